internal import CLinux
internal import Glibc
internal import Synchronization

/// The number of descriptors that this process may have.
///
/// The usual limit of 1024 is there for programs that use `select(2)`. It is too low for a service that serves many
/// programs.
public enum DescriptorLimit {
    /// The limit before ``raise()``, to be restored in children; 0 if it was not raised.
    private static let usual = Atomic<UInt>(0)

    /// Raises this process's limit to the hard limit. Children get the old limit. Call this once, at the start of the
    /// process.
    public static func raise() {
        var limit = rlimit()
        guard getrlimit(descriptors, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        if setrlimit(descriptors, &limit) == 0 { usual.store(UInt(before), ordering: .relaxed) }
    }

    /// Number of descriptors that this process may have now.
    public static var current: Int {
        var limit = rlimit()
        guard getrlimit(descriptors, &limit) == 0 else { return 1024 }
        return Int(clamping: limit.rlim_cur)
    }

    static func restore(inChild pid: CInt) {
        let usual = usual.load(ordering: .relaxed)
        guard usual > 0 else { return }
        var limit = rlimit()
        guard getrlimit(descriptors, &limit) == 0 else { return }
        limit.rlim_cur = rlim_t(usual)
        set_descriptor_limit(pid, &limit)
    }

    private static var descriptors: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
}
