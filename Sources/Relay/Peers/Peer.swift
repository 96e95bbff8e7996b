internal import CLinux
internal import Glibc
internal import Processes

/// The process at the other end of a connection, as the kernel knows it.
struct Peer {
    /// The namespaces that tell one container from another. A namespace that cannot be read is nil.
    struct Namespaces: Hashable {
        let user: String?
        let mount: String?
        let process: String?

        init(pid: UInt32) {
            user = ProcessFiles.link("ns/user", pid: pid)
            mount = ProcessFiles.link("ns/mnt", pid: pid)
            process = ProcessFiles.link("ns/pid", pid: pid)
        }

        /// The namespaces of this process.
        static let own = Namespaces(pid: UInt32(getpid()))
    }

    let pid: UInt32
    let uid: UInt32
    let namespaces: Namespaces
    /// Whether the process descends from this one.
    let isDescendant: Bool
    /// Whether a server at a port of the process's loopback address is one of this machine.
    let sharesNetwork: Bool

    /// `SO_PEERPIDFD`, which is missing from the Glibc module.
    private static let peerDescriptor: CInt = 77

    /// Examines the process; nil if it has exited, so that its number may belong to another process.
    init?(of socket: CInt) {
        // This tuple has the layout of struct ucred, which Swift does not import.
        var credentials: (pid: UInt32, uid: UInt32, gid: UInt32) = (0, 0, 0)
        var size = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0, credentials.pid > 0 else {
            return nil
        }
        var descriptor: CInt = -1
        size = socklen_t(MemoryLayout.size(ofValue: descriptor))
        // Before Linux 6.5, the kernel reports only the number.
        if getsockopt(socket, SOL_SOCKET, Self.peerDescriptor, &descriptor, &size) != 0 {
            descriptor = errno == ENOPROTOOPT ? pidfd_open(CInt(bitPattern: credentials.pid), 0) : -1
        }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        pid = credentials.pid
        uid = credentials.uid
        namespaces = Namespaces(pid: credentials.pid)
        sharesNetwork =
            ProcessFiles.link("ns/net", pid: credentials.pid) == ProcessFiles.link("ns/net", pid: UInt32(getpid()))
        isDescendant = ProcessIdentity(pid: UInt32(getpid()))?.isAncestor(of: credentials.pid) == true
        // A process's descriptor is readable once the process has ended. Until then, the facts above are about it.
        var end = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&end, 1, 0) == 0 else { return nil }
    }
}
