internal import DBus
internal import DequeModule
internal import Glibc
internal import OpenURLBus

/// Who the router's callers are, as the bus and the kernel say.
///
/// A unique name is never given to a second connection, so what was found out once stays true; the last thousand are
/// kept.
struct Senders {
    private static let limit = 1024
    private var known: [BusName: OpenContext.Source] = [:]
    private var order: Deque<BusName> = []

    subscript(name: BusName) -> OpenContext.Source? { known[name] }

    mutating func add(_ name: BusName, _ source: OpenContext.Source) {
        guard known.updateValue(source, forKey: name) == nil else { return }
        order.append(name)
        if order.count > Self.limit, let oldest = order.popFirst() { known[oldest] = nil }
    }

    /// Describes a caller from what the bus knows of its connection.
    ///
    /// The program and the unit are read from `/proc` by the process's number. That number may have gone to another process
    /// if the caller has ended, so they are for display and logging; nothing is allowed or refused because of them.
    static func describe(_ name: BusName, _ credentials: Credentials?) -> OpenContext.Source {
        var source = OpenContext.Source()
        source.uniqueName = name.rawValue
        source.pid = credentials?.pid
        source.uid = credentials?.uid
        if let pid = credentials?.pid {
            source.executable = ProcessProgram.path(pid: pid)
            source.unit = unit("/proc/\(pid)/cgroup")
        }
        return source
    }

    /// The last element of the process's control group, where it is a unit's.
    private static func unit(_ path: String) -> String? {
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
}
