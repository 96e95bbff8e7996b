internal import Glibc
internal import SystemPackage

/// The service manager that started this process and listens for its messages (sd_notify(3)).
struct ServiceManager: Sendable {
    /// The path of the manager's socket; an abstract name begins with `@`.
    private let socket: String

    /// Finds the manager that the environment specifies; nil if it specifies none.
    init?(environment: [String: String]) {
        guard let socket = environment["NOTIFY_SOCKET"], let first = socket.first, first == "/" || first == "@" else {
            return nil
        }
        self.socket = socket
    }

    /// Reports the process's new state to the manager, such as `STOPPING=1`, without waiting.
    func tell(_ state: String) throws(Errno) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var path = Array(socket.utf8)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { throw .fileNameTooLong }
        if path[0] == UInt8(ascii: "@") { path[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        // The length of the address determines the length of an abstract name. After a path, the zero does no harm.
        let isAbstract = path[0] == 0
        let length = MemoryLayout.offset(of: \sockaddr_un.sun_path).map { $0 + path.count + (isAbstract ? 0 : 1) } ?? 0

        let descriptor = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        defer { close(descriptor) }
        let text = Array(state.utf8)
        let sent = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, text, text.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL), $0, socklen_t(length))
            }
        }
        guard sent == text.count else { throw Errno(rawValue: errno) }
    }
}
