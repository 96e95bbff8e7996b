internal import DBus
internal import OpenURLBus

extension OpenContext.Source {
    /// Describes the program that a URL comes from, from the bus's knowledge of the caller's connection.
    ///
    /// The program and the unit are read from `/proc` by the number of the process. The number may belong to another process
    /// if the caller has ended, so both are for display and logging. Only the share of the queue depends on the program
    /// (``Delivery/caller``).
    init(_ name: BusName, _ credentials: Credentials?) {
        self.init()
        uniqueName = name.rawValue
        pid = credentials?.pid
        uid = credentials?.uid
        if let caller = pid {
            let origin = URLOrigin(ofCaller: caller)
            pid = origin.pid
            executable = origin.executable
            via = origin.via
            isIntermediary = origin.isIntermediary
            unit = unitName(origin.pid)
        }
    }
}

/// The last element of the process's control group, if it is a unit's.
private func unitName(_ pid: UInt32) -> String? {
    let text = ProcessFiles.bytes("cgroup", pid: pid).flatMap { String(validating: $0, as: UTF8.self) }
    let units = text?.split(separator: "\n").compactMap { $0.split(separator: "/").last }
    return units?.first { $0.hasSuffix(".scope") || $0.hasSuffix(".service") }.map(String.init)
}
