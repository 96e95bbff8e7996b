import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Reactor
import Testing

@testable import OpenURL

/// A session for a process of its own: a bus, and this process in the router's place, on the bus and at the lane.
///
/// The session changes the environment of its process, so only an exit test may have one.
final class LaneSession: Sendable {
    /// What the router does with a URL at the lane.
    enum LaneAnswer: Sendable {
        case open
        /// The objects are gone, as in a router that ends in order.
        case unknownObject
        /// The connection ends before an answer.
        case hangUp
        case refuse(OpenURLError.Code)
    }

    let bus: PrivateBus
    let connection: Connection
    private let loop: EventLoop
    private let opened = Lock<[String]>([])
    private let answer = Lock(LaneAnswer.open)
    private let lanes = Lock<[Connection]>([])

    /// Starts a bus, and takes the router's name.
    ///
    /// - Parameters:
    ///   - isInstalled: whether this process is the router of the installation.
    ///   - rules: further elements of the bus's configuration.
    init(isInstalled: Bool = true, rules: String = "") async throws {
        bus = try await PrivateBus(rules: rules)
        let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
        let runtime = bus.directory.appending(path: "XDG_RUNTIME_DIR")
        try FileManager.default.createDirectory(
            at: runtime.appending(path: "openurl"),
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let services = bus.directory.appending(path: "data/dbus-1/services")
        try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
        try Data("[D-BUS Service]\nExec=\(isInstalled ? program : "/usr/libexec/openurld")\n".utf8)
            .write(to: services.appending(path: "org.openurl.Router1.service"))
        setenv("DBUS_SESSION_BUS_ADDRESS", bus.address, 1)
        setenv("XDG_RUNTIME_DIR", runtime.path, 1)
        setenv("XDG_DATA_HOME", bus.directory.appending(path: "data").path, 1)
        setenv("XDG_DATA_DIRS", "/nonexistent", 1)
        unsetenv("OPENURL_ROUTER")
        loop = try bus.makeLoop()
        connection = try await Connection.open(.address(bus.address), on: loop)
        try await export(on: connection)
    }

    /// Takes the router's name with a connection.
    func export(on connection: Connection) async throws {
        await connection.export([router("bus") { _ in }], at: RouterService.path)
        _ = try await connection.requestName(RouterService.name)
    }

    /// The URLs that have come, each as `bus URL` or `lane URL`.
    var urls: [String] { opened.withLock { $0 } }

    func setAnswer(_ new: LaneAnswer) { answer.withLock { $0 = new } }

    /// Listens at the lane.
    func listen() async throws -> PeerListener {
        let path = try #require(LaneAddress.path(for: .session))
        let count = Lock(0)
        return try await PeerListener.listen(at: LaneAddress.address(ofPath: path), on: loop) { connection in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let hello = ExportedInterface(
                LaneInterface.name,
                [.method(LaneInterface.hello) { _, _ in ":lane.\(number)" }]
            )
            connection.export([hello], at: LaneInterface.path)
            connection.export([self.router("lane", self.perform)], at: RouterService.path)
            self.lanes.withLock { $0.append(connection) }
        }
    }

    /// Ends the connections of the lane.
    func endLanes() async {
        for lane in lanes.withLock({ $0 }) { await lane.close() }
    }

    private func perform(_ call: IncomingCall) async throws {
        switch answer.withLock({ $0 }) {
        case .open: break
        case .unknownObject: throw RemoteError(.unknownObject, "there is no such object")
        case .hangUp: await call.connection.close()
        case .refuse(let code): throw OpenURLError(code, "refused")
        }
    }

    private func router(
        _ way: String,
        _ perform: @escaping @Sendable (IncomingCall) async throws -> Void
    ) -> ExportedInterface {
        ExportedInterface(
            RouterInterface.name,
            [
                .method(RouterInterface.openURL) { call, input in
                    let url = input.url
                    self.opened.withLock { $0.append("\(way) \(url)") }
                    try await perform(call)
                    return OpenResult(handler: way, way: .active, reply: [:], trace: [])
                },
                .method(RouterInterface.canOpenURL) { call, _ in
                    try await perform(call)
                    return way == "lane"
                },
            ]
        )
    }
}
