internal import CLinux
internal import Glibc
internal import Synchronization

/// The number of descriptors that this process may have.
///
/// The usual limit, 1024, is there for programs that use `select(2)`, and is too low for a service of many programs.
public enum DescriptorLimit {
    /// The limit before ``raise()``, for the children; 0 if it was not raised.
    private static let usual = Atomic<UInt>(0)

    /// Raises the limit of this process to the hard limit. Children get the limit of before. Call it once, at the start
    /// of the process.
    public static func raise() {
        var limit = rlimit()
        guard getrlimit(descriptors, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        if setrlimit(descriptors, &limit) == 0 { usual.store(UInt(before), ordering: .relaxed) }
    }

    /// The number of descriptors that this process may have now.
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
