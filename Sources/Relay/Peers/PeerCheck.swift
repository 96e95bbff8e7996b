internal import CLinux
internal import Glibc
internal import Processes

/// Decides which processes may connect to a share.
package enum SharePeers: Sendable, Hashable {
    /// The processes that this process has started: ssh, which passes on what arrives from the other machine.
    case descendants
    /// The processes of one container, and the user's own processes outside containers.
    case container
}

/// Checks the processes that connect to a share.
///
/// A container's socket may be visible in other containers too, because toolbox and distrobox show the user's whole runtime
/// directory. So the first container that connects keeps the share for as long as one of its processes runs.
struct PeerCheck {
    private let peers: SharePeers
    private var container: Peer.Namespaces?
    /// When the container's processes may be searched for again, so that connections from another container cannot keep a
    /// processor busy.
    private var nextSearch = ContinuousClock.now

    init(_ peers: SharePeers) {
        self.peers = peers
    }

    /// Returns whether a process may connect.
    mutating func accepts(_ peer: Peer) -> Bool {
        switch peers {
        case .descendants: return peer.uid == getuid() && peer.isDescendant
        case .container:
            let namespaces = peer.namespaces
            if namespaces == .own { return peer.uid == getuid() }
            guard namespaces.user != nil, namespaces.mount != nil, namespaces.process != nil,
                peer.uid == getuid() || isInOwnUserNamespace(peer)
            else { return false }
            if let container, container != namespaces {
                let begin = ContinuousClock.now
                guard nextSearch <= begin else { return false }
                let hasProcess = Self.hasProcess(container)
                let end = ContinuousClock.now
                nextSearch = end + begin.duration(to: end) * 4
                guard !hasProcess else { return false }
            }
            container = namespaces
            return true
        }
    }

    /// Returns whether a process's user namespace is another one than this process's, and belongs to the user. The users
    /// there are then the user's as well (user_namespaces(7)), though they have other numbers.
    private func isInOwnUserNamespace(_ peer: Peer) -> Bool {
        guard peer.namespaces.user != Peer.Namespaces.own.user else { return false }
        let descriptor = open("/proc/\(peer.pid)/ns/user", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return owner_of_user_namespace(descriptor) == Int64(getuid())
    }

    /// Returns whether a process is in these namespaces.
    private static func hasProcess(_ namespaces: Peer.Namespaces) -> Bool {
        guard let directory = opendir("/proc") else { return true }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let pid = UInt32(name), ProcessIdentity(pid: pid) != nil else { continue }
            if Peer.Namespaces(pid: pid) == namespaces { return true }
        }
        return false
    }
}
