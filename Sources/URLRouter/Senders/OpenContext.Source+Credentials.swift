internal import DBus
internal import Glibc
internal import OpenURLBus

extension OpenContext.Source {
    /// Describes a caller from the bus's knowledge of its connection.
    ///
    /// The program and the unit are read from `/proc` by the number of the process. The number may belong to another process
    /// if the caller has ended, so both are for display and logging; no rule depends on them.
    init(_ name: BusName, _ credentials: Credentials?) {
        self.init()
        uniqueName = name.rawValue
        pid = credentials?.pid
        uid = credentials?.uid
        if let pid {
            executable = ProcessProgram.path(pid: pid)
            unit = unitName("/proc/\(pid)/cgroup")
        }
    }
}

/// The last element of the process's control group, if it is a unit's.
private func unitName(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let text: String? = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        return count > 0 ? String(validating: buffer.prefix(count), as: UTF8.self) : nil
    }
    let units = text?.split(separator: "\n").compactMap { $0.split(separator: "/").last }
    return units?.first { $0.hasSuffix(".scope") || $0.hasSuffix(".service") }.map(String.init)
}
