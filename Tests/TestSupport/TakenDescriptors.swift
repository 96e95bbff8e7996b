internal import Glibc

/// All descriptors that this process may still have, so that it can open nothing. Take them only in a child process, such as the
/// one of an exit test.
public struct TakenDescriptors {
    private let descriptors: [CInt]

    /// Takes all descriptors. The child may have inherited any number of them, so the limit leaves room for more.
    public init() {
        var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var descriptors: [CInt] = []
        while let next = Optional(dup(STDERR_FILENO)), next >= 0 { descriptors.append(next) }
        self.descriptors = descriptors
    }

    /// Gives them back.
    public func giveBack() {
        for descriptor in descriptors { close(descriptor) }
    }
}
