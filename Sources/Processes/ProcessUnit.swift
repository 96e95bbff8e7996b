/// The systemd unit that a process belongs to.
package enum ProcessUnit {
    /// Returns the last element of the process's control group, if it belongs to a unit.
    package static func name(pid: UInt32) -> String? {
        let text = ProcessFiles.bytes("cgroup", pid: pid).flatMap { String(validating: $0, as: UTF8.self) }
        let units = text?.split(separator: "\n").compactMap { $0.split(separator: "/").last }
        return units?.first { $0.hasSuffix(".scope") || $0.hasSuffix(".service") }.map(String.init)
    }
}
