internal import Glibc

/// The confinement of a process, such as a sandbox or a container.
enum ProcessConfinement {
    private static let own = marks(of: UInt32(getpid()))

    /// Whether a process has another view of users or files than the router, or another security label. A process that cannot be
    /// asked counts as confined.
    static func isConfined(pid: UInt32) -> Bool {
        let marks = marks(of: pid)
        return marks != own || marks.namespaces.contains(nil)
    }

    private struct Marks: Hashable {
        let namespaces: [String?]
        let label: [UInt8]?
    }

    private static func marks(of pid: UInt32) -> Marks {
        Marks(
            namespaces: ["ns/user", "ns/mnt"].map { ProcessFiles.link($0, pid: pid) },
            label: ProcessFiles.bytes("attr/current", pid: pid)
        )
    }
}
