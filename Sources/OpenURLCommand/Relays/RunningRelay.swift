internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import Relay
internal import SystemPackage
internal import Translations
internal import URLOpener
internal import UserFiles

/// A share's socket with its server, on an event loop.
struct RunningRelay {
    let directory: ShareDirectory
    let loop: EventLoop
    let server: RelayServer
    let router: BusRouter

    /// Takes the share's directory, and makes a server that has not started.
    ///
    /// - Parameters:
    ///   - place: the directory of the share in `$XDG_RUNTIME_DIR/openurl`.
    ///   - source: the far side, as in a rule of the policy.
    init(
        _ place: String,
        _ source: String,
        for peers: SharePeers,
        in runtimeDirectory: String,
        _ invocation: Invocation
    ) throws(CommandFailure) {
        let socket: CInt
        do throws(ShareDirectory.Failure) {
            directory = try ShareDirectory(place, in: runtimeDirectory)
            socket = try directory.listen()
        } catch {
            throw CommandFailure(error)
        }
        do throws(Errno) {
            loop = try EventLoop()
        } catch {
            close(socket)
            let reason = systemErrorText(error.rawValue)
            throw CommandFailure(OpenURLError(.launchFailed, translated("no event loop can be created: \(reason)")))
        }
        router = BusRouter(for: source, on: invocation.bus, loop)
        server = RelayServer(socket, for: peers, router, on: loop)
    }

    /// Puts the far side's program into the directory. Without the program, the far side needs its own.
    func addClient() throws(CommandFailure) {
        guard let client = Self.client else {
            throw CommandFailure(
                OpenURLError(.launchFailed, translated("openurl-remote is not installed beside openurl"))
            )
        }
        do throws(ShareDirectory.Failure) {
            try directory.add(client: client)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The path of the installed program for the far side; nil if it is unknown.
    static var client: String? { ProcessProgram.path(ofNeighbour: ShareDirectory.clientName) }

    /// Starts the server on the loop.
    func start() {
        loop.execute { [server] in server.assumeIsolated { $0.start() } }
    }

    /// Returns the user's runtime directory.
    static func runtimeDirectory(_ invocation: Invocation) throws(CommandFailure) -> String {
        guard let directory = invocation.environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else {
            throw CommandFailure(
                .failed,
                translated("XDG_RUNTIME_DIR is not set, so there is no place for the socket; log in to a session"),
                exitStatus: ExitStatus.unavailable
            )
        }
        return normalizedPath(directory)
    }
}

extension CommandFailure {
    fileprivate init(_ failure: ShareDirectory.Failure) {
        switch failure {
        case .taken:
            let message = translated("this share exists already; 'openurl share' lists the shares")
            self.init(OpenURLError(.alreadyClaimed, message))
        case .unusable(let error):
            let message = translated("the share's directory cannot be used: it \(error.description)")
            self.init(OpenURLError(.launchFailed, message))
        }
    }
}
