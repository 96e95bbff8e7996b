import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import Processes
import Reactor
import TestSupport
import Testing

@testable import URLRouter

/// The router's end of the lane, with real sockets and without a router.
@Suite(.timeLimit(.minutes(10))) struct LaneConnectionTests {
    /// The name of the interface that stands for those of the router.
    private static let interface: InterfaceName = "com.example.Router"
    private static let path: ObjectPath = "/com/example/Router"
    private static let router = RemoteObject(nil, path)
    private static let echo = Method<String, String>(interface, "Echo")
    private static let sender = Method<Empty, String>(interface, "Sender")
    private static let large = Method<UInt32, String>(interface, "Large")
    private static let wait = Method<Empty, String>(interface, "Wait")

    /// A lane beside a connection to a bus, and the programs that use it.
    private final class Session: Sendable {
        let bus: PrivateBus
        let loop: EventLoop
        let connection: Connection
        let lane: Lane
        let directory: TemporaryDirectory
        let path: String
        /// The handlers for which connections were offered, in order.
        let offers = Lock<[BusName]>([])
        /// The calls of `Wait` that have no answer yet.
        let waiting = Lock<[CheckedContinuation<Void, Never>]>([])

        init(connections: Int = Lane.connections) async throws {
            bus = try await PrivateBus()
            loop = try bus.makeLoop()
            connection = try await Connection.open(.address(bus.address), on: loop)
            directory = try TemporaryDirectory()
            path = "\(directory.path)/openurl/lane"
            lane = Lane(beside: connection, connections: connections)
            let (offers, waiting) = (offers, waiting)
            let interface = ExportedInterface(
                LaneConnectionTests.interface,
                [
                    .method(LaneConnectionTests.echo) { _, text in text },
                    .method(LaneConnectionTests.sender) { call, _ in call.sender?.rawValue ?? "" },
                    .method(LaneConnectionTests.large) { _, size in String(repeating: "a", count: Int(size)) },
                    .method(LaneConnectionTests.wait) { _, _ in
                        await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
                        return "waited"
                    },
                ]
            )
            await connection.export([interface], at: LaneConnectionTests.path)
            try await lane.listen(at: path) { name in offers.withLock { $0.append(name) } }
        }

        func stop() async {
            release()
            await lane.close()
            await lane.refuseMore()
            bus.stop()
        }

        /// Lets the calls of `Wait` end.
        func release() {
            let all = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for continuation in all { continuation.resume() }
        }

        /// Performs something on the loop, where the router calls the lane.
        func onLoop<Result: Sendable>(_ body: @escaping @Sendable (Lane) throws -> Result) async throws -> Result {
            let lane = lane
            return try await loop.run { try body(lane) }
        }

        /// Attaches a handler, as the router does.
        func attach(_ id: BusName, at owner: BusName, _ process: ProcessIdentity) async throws {
            try await onLoop { $0.attach(id, at: owner, process) }
        }

        /// Connects a program, whose name is the router's answer to `Hello`.
        func connect() async throws -> Program {
            let connection = try await Connection.open(
                socket: path,
                naming: LaneInterface.hello,
                on: LaneInterface.object,
                on: try bus.makeLoop(),
                limits: RouterLane.limits,
                timeout: .seconds(60)
            )
            return Program(connection: connection, name: try #require(connection.givenName))
        }
    }

    /// A program on the lane.
    private struct Program {
        let connection: Connection
        let name: BusName

        func offer(_ id: String) async throws {
            try await connection.call(LaneInterface.offer, on: LaneInterface.object, id)
        }

        func call<Input: MessageBody, Output: MessageBody>(
            _ method: Method<Input, Output>,
            _ input: Input
        ) async throws -> Output {
            try await connection.call(method, on: LaneConnectionTests.router, input)
        }
    }

    private func withSession(
        connections: Int = Lane.connections,
        _ body: (Session) async throws -> Void
    ) async throws {
        let session = try await Session(connections: connections)
        do {
            try await body(session)
        } catch {
            await session.stop()
            throw error
        }
        await session.stop()
    }

    private static func process() throws -> ProcessIdentity {
        try #require(ProcessIdentity(pid: UInt32(getpid())))
    }

    /// The name of a handler's connection to the bus.
    private static let owner: BusName = ":1.77"
    private static let app: BusName = "com.example.app"

    // MARK: The socket

    @Test func socketBelongsToTheUserAlone() async throws {
        try await withSession { session in
            var status = stat()
            try #require(stat(session.path, &status) == 0)
            #expect(status.st_mode & S_IFMT == S_IFSOCK && status.st_mode & 0o777 == 0o600)
            try #require(stat("\(session.directory.path)/openurl", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o700)
        }
    }

    @Test func withoutAPlaceThereIsNoSocket() async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let lane = Lane(beside: try await Connection.open(.address(bus.address), on: try bus.makeLoop()))
        try await lane.listen(at: nil) { _ in }
        await lane.refuseMore()
        await lane.waitUntilAnswered()
        await lane.close()
    }

    /// A directory that others may change is no place for the socket.
    @Test(arguments: [mode_t(0o777), 0o770, 0o707]) func directoryOfOthersIsRefused(_ mode: mode_t) async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let directory = try TemporaryDirectory()
        let place = try directory.makeDirectory("openurl")
        try #require(chmod(place, mode) == 0)
        let lane = Lane(beside: try await Connection.open(.address(bus.address), on: try bus.makeLoop()))
        let isUsed: Bool
        do {
            try await lane.listen(at: "\(place)/lane") { _ in }
            isUsed = true
        } catch {
            isUsed = false
        }
        var status = stat()
        try #require(stat(place, &status) == 0)
        // Either the directory is refused, or nobody else reaches it any more.
        #expect(!isUsed || status.st_mode & 0o077 == 0)
        await lane.refuseMore()
    }

    @Test func fileInTheDirectorysPlaceIsAnError() async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let directory = try TemporaryDirectory()
        try directory.write("", to: "openurl")
        let lane = Lane(beside: try await Connection.open(.address(bus.address), on: try bus.makeLoop()))
        await #expect(throws: (any Error).self) { try await lane.listen(at: "\(directory.path)/openurl/lane") { _ in } }
    }

    // MARK: Names

    @Test func programsAreNumbered() async throws {
        try await withSession { session in
            var names: [String] = []
            var programs: [Program] = []
            for _ in 0..<4 {
                let program = try await session.connect()
                programs.append(program)
                names.append(program.name.rawValue)
            }
            #expect(names == (1...4).map { ":lane.\($0)" })
            // A number is not used again, as a name on the bus is not.
            await programs[3].connection.close()
            #expect(try await session.connect().name == ":lane.5")
        }
    }

    @Test func senderOfACallIsTheNameOnTheLane() async throws {
        try await withSession { session in
            for _ in 0..<3 {
                let program = try await session.connect()
                #expect(try await program.call(Self.sender, Empty()) == program.name.rawValue)
            }
        }
    }

    @Test(
        arguments: [
            (":lane.1", true), (":lane.18446744073709551615", true), (":lane.x", true), (":1.1", false),
            (":lan.e1", false),
            ("com.example.app", false), (":laned.1", false), ("lane.a1", false),
        ] as [(BusName, Bool)]
    )
    func namesOfTheLaneAreKnown(_ name: BusName, _ isOnLane: Bool) {
        #expect(name.isOnLane == isOnLane)
    }

    @Test func objectsOfTheBusAreThere() async throws {
        try await withSession { session in
            let program = try await session.connect()
            #expect(try await program.call(Self.echo, "hello") == "hello")
            let missing = RemoteObject(nil, "/nothing")
            await #expect(throws: CallError.self) { try await program.connection.call(Self.echo, on: missing, "x") }
        }
    }

    /// Objects that are exported later are those of the bus alone: the router exports all of its own first.
    @Test func objectsAreThoseOfTheMomentOfTheConnection() async throws {
        try await withSession { session in
            let before = try await session.connect()
            let later = ExportedInterface(Self.interface, [.method(Self.echo) { _, text in "later \(text)" }])
            await session.connection.export([later], at: "/later")
            let after = try await session.connect()
            let object = RemoteObject(nil, "/later")
            #expect(try await after.connection.call(Self.echo, on: object, "x") == "later x")
            await #expect(throws: CallError.self) { try await before.connection.call(Self.echo, on: object, "x") }
        }
    }

    // MARK: Credentials

    @Test func processOfAProgramIsThatOfTheKernel() async throws {
        try await withSession { session in
            let program = try await session.connect()
            let credentials = try #require(session.lane.credentials(of: program.name))
            #expect(credentials.pid == UInt32(getpid()) && credentials.uid == getuid())
            #expect(credentials.processDescriptor != nil)
        }
    }

    @Test(arguments: [":lane.9", ":1.1", "com.example.app", ":lane.0"] as [BusName])
    func unknownNamesHaveNoCredentials(_ name: BusName) async throws {
        try await withSession { session in
            _ = try await session.connect()
            #expect(session.lane.credentials(of: name) == nil)
        }
    }

    @Test func endOfAConnectionEndsItsName() async throws {
        try await withSession { session in
            let program = try await session.connect()
            #expect(session.lane.connection(of: program.name) != nil)
            await program.connection.close()
            try await eventually(session.lane.credentials(of: program.name) == nil) { $0 }
            #expect(session.lane.connection(of: program.name) == nil)
        }
    }

    /// Names of the bus have the bus's connection, also names that nothing has.
    @Test(arguments: [":1.1", "com.example.app", "org.freedesktop.DBus"] as [BusName])
    func otherNamesAreThoseOfTheBus(_ name: BusName) async throws {
        try await withSession { session in
            #expect(session.lane.connection(of: name) === session.connection)
            #expect(session.lane.connection(toHandlerAt: name) === session.connection)
            #expect(session.lane.busName(of: name) == name)
        }
    }

    // MARK: Offers

    @Test func offerIsToldToTheRouter() async throws {
        try await withSession { session in
            let program = try await session.connect()
            try await program.offer("com.example.app")
            try await program.offer("com.example.other")
            try await program.offer("com.example.app")
            #expect(session.offers.withLock { $0 } == ["com.example.app", "com.example.other", "com.example.app"])
        }
    }

    @Test(arguments: [
        ":1.1", ":lane.1", "", "app", "com..example", "com.example.", "com.1example", "com.example app", "com.exämple",
    ])
    func otherTextIsNoHandler(_ id: String) async throws {
        try await withSession { session in
            let program = try await session.connect()
            let error = await #expect(throws: CallError.self) { try await program.offer(id) }
            guard case .remote(let remote)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(remote.name == .invalidArguments)
            #expect(session.offers.withLock { $0 } == [])
        }
    }

    @Test func connectionIsForAFewHandlers() async throws {
        try await withSession { session in
            let program = try await session.connect()
            for number in 1...16 { try await program.offer("com.example.app\(number)") }
            let error = await #expect(throws: CallError.self) { try await program.offer("com.example.app17") }
            guard case .remote(let remote)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(remote.name == OpenURLError.Code.limitsExceeded.errorName)
            #expect(remote.message == "a connection can offer at most 16 handlers")
            // An offer that was made before may be made again, and another connection has a limit of its own.
            try await program.offer("com.example.app16")
            try await session.connect().offer("com.example.app17")
        }
    }

    /// The router may handle the offer when the connection has ended.
    @Test func offerOfAConnectionThatEndedHasNoEffect() async throws {
        try await withSession { session in
            try session.lane.offer(Self.app, at: ":lane.99")
            try await session.attach(Self.app, at: Self.owner, Self.process())
            #expect(session.lane.connection(toHandlerAt: Self.owner) === session.connection)
        }
    }

    // MARK: Handlers

    @Test func handlerIsReachedOverTheConnectionThatItOffers() async throws {
        try await withSession { session in
            let program = try await session.connect()
            try await program.offer("com.example.app")
            #expect(session.lane.connection(toHandlerAt: Self.owner) === session.connection)
            try await session.attach(Self.app, at: Self.owner, Self.process())
            let way = session.lane.connection(toHandlerAt: Self.owner)
            #expect(way === session.lane.connection(of: program.name) && way !== session.connection)
            #expect(session.lane.busName(of: program.name) == Self.owner)
            // Another handler is reached over the bus.
            #expect(session.lane.connection(toHandlerAt: ":1.78") === session.connection)
        }
    }

    /// Only the process that has the name on the bus gets the handler's calls.
    @Test func offerOfAnotherProcessIsNotTaken() async throws {
        try await withSession { session in
            try await session.connect().offer("com.example.app")
            let own = try Self.process()
            for process in [
                ProcessIdentity(pid: own.pid + 1, startTime: own.startTime),
                // The number belongs to another process now.
                ProcessIdentity(pid: own.pid, startTime: own.startTime + 1), ProcessIdentity(pid: 1, startTime: 0),
            ] {
                try await session.attach(Self.app, at: Self.owner, process)
                #expect(session.lane.connection(toHandlerAt: Self.owner) === session.connection)
            }
        }
    }

    @Test(arguments: ["com.example.other", "com.example", "com.example.app.more"] as [BusName])
    func offerIsForOneHandler(_ id: BusName) async throws {
        try await withSession { session in
            try await session.connect().offer("com.example.app")
            try await session.attach(id, at: Self.owner, Self.process())
            #expect(session.lane.connection(toHandlerAt: Self.owner) === session.connection)
        }
    }

    /// The router may not have learnt yet that an earlier connection has ended.
    @Test func newestOfferIsTaken() async throws {
        try await withSession { session in
            var last: Program?
            for _ in 0..<4 {
                last = try await session.connect()
                try await last?.offer("com.example.app")
            }
            // A newer connection without an offer does not matter.
            _ = try await session.connect()
            try await session.attach(Self.app, at: Self.owner, Self.process())
            let name = try #require(last?.name)
            #expect(session.lane.connection(toHandlerAt: Self.owner) === session.lane.connection(of: name))
        }
    }

    /// A process has one connection to the bus for all its handlers, so a new one takes the place of the old one.
    @Test func handlerHasOneNameOnTheBus() async throws {
        try await withSession { session in
            let program = try await session.connect()
            try await program.offer("com.example.app")
            try await session.attach(Self.app, at: Self.owner, Self.process())
            try await session.attach(Self.app, at: ":1.78", Self.process())
            #expect(session.lane.connection(toHandlerAt: Self.owner) === session.connection)
            #expect(session.lane.connection(toHandlerAt: ":1.78") === session.lane.connection(of: program.name))
            #expect(session.lane.busName(of: program.name) == ":1.78")
        }
    }

    /// Each connection over which the process was reached could make the router keep a large message.
    @Test(arguments: [":1.77", ":1.78"] as [BusName])
    func earlierConnectionOfAHandlerEnds(_ next: BusName) async throws {
        try await withSession { session in
            let first = try await session.connect()
            try await first.offer("com.example.app")
            try await session.attach(Self.app, at: Self.owner, Self.process())
            let second = try await session.connect()
            try await second.offer("com.example.app")
            try await session.attach(Self.app, at: next, Self.process())
            #expect(await first.connection.waitUntilClosed() == .disconnected)
            #expect(session.lane.connection(toHandlerAt: next) === session.lane.connection(of: second.name))
            #expect(try await second.call(Self.echo, "x") == "x")
        }
    }

    @Test func endOfTheConnectionLeadsBackToTheBus() async throws {
        try await withSession { session in
            let program = try await session.connect()
            try await program.offer("com.example.app")
            try await session.attach(Self.app, at: Self.owner, Self.process())
            await program.connection.close()
            try await eventually(session.lane.connection(toHandlerAt: Self.owner) === session.connection) { $0 }
            #expect(session.lane.busName(of: program.name) == program.name)
        }
    }

    /// The process of the handler has ended, and a child has kept the socket.
    @Test func detachedConnectionEnds() async throws {
        try await withSession { session in
            let program = try await session.connect()
            try await program.offer("com.example.app")
            try await session.attach(Self.app, at: Self.owner, Self.process())
            try await session.onLoop { $0.detach(Self.owner) }
            #expect(await program.connection.waitUntilClosed() == .disconnected)
            try await eventually(session.lane.credentials(of: program.name) == nil) { $0 }
        }
    }

    @Test func otherConnectionsSurviveADetachment() async throws {
        try await withSession { session in
            let program = try await session.connect()
            try await program.offer("com.example.app")
            try await session.onLoop { $0.detach(Self.owner) }
            #expect(try await program.call(Self.echo, "x") == "x")
        }
    }

    // MARK: Limits

    /// A program gets no more memory for a message than for the arguments of a call.
    @Test(arguments: [(1000, true), (RouterLane.callBytes - 4096, true), (RouterLane.callBytes + 4096, false)])
    func messagesHaveALimit(_ size: Int, _ isTaken: Bool) async throws {
        try await withSession { session in
            let connection = try await Connection.open(
                socket: session.path,
                naming: LaneInterface.hello,
                on: LaneInterface.object,
                on: try session.bus.makeLoop(),
                timeout: .seconds(60)
            )
            let text = String(repeating: "a", count: size)
            do throws(CallError) {
                _ = try await connection.call(Self.echo, on: Self.router, text)
                #expect(isTaken)
            } catch .remote(let error) where error.name == .limitsExceeded {
                // The arguments have a limit of their own, which is lower than that of a message.
                #expect(size > ConnectionLimits().bodyBytes)
            } catch {
                #expect(!isTaken && error == .disconnected, "\(error)")
            }
        }
    }

    /// The answers of a handler may be larger, once the handler is attached.
    @Test func answersOfAHandlerMayBeLarge() async throws {
        try await withSession { session in
            let program = try await session.connect()
            let size = RouterLane.callBytes + (1 << 20)
            await program.connection.export(
                [
                    ExportedInterface(
                        Self.interface,
                        [.method(Self.large) { _, size in String(repeating: "b", count: Int(size)) }]
                    )
                ],
                at: Self.path
            )
            try await program.offer("com.example.app")
            try await session.attach(Self.app, at: Self.owner, Self.process())
            let way = session.lane.connection(toHandlerAt: Self.owner)
            let answer = try await way.call(Self.large, on: Self.router, UInt32(size))
            #expect(answer.utf8.count == size)
        }
    }

    /// This process is one program, so it gets half of the connections.
    @Test func connectionsOfOneProgramHaveALimit() async throws {
        try await withSession(connections: 16) { session in
            var programs: [Program] = []
            for _ in 0..<8 { programs.append(try await session.connect()) }
            await #expect(throws: (any Error).self) { try await session.connect() }
            // The connections that are there are still served, and an end makes room.
            #expect(try await programs[7].call(Self.echo, "x") == "x")
            let first = programs.removeFirst()
            await first.connection.close()
            try await eventually(session.lane.credentials(of: first.name) == nil) { $0 }
            let next = try await eventually(await name(session)) { $0 != nil }
            #expect(next?.isOnLane == true)
        }
    }

    /// The name of one more program; nil if there is no room.
    private func name(_ session: Session) async -> BusName? {
        do {
            return try await session.connect().name
        } catch {
            return nil
        }
    }

    // MARK: The end

    @Test func refusedCallsHaveNoObject() async throws {
        try await withSession { session in
            let program = try await session.connect()
            await session.lane.refuseMore()
            for _ in 0..<2 {
                let error = await #expect(throws: CallError.self) { try await program.call(Self.echo, "x") }
                guard case .remote(let remote)? = error else {
                    Issue.record("\(error as Any)")
                    return
                }
                // A client calls over the bus then.
                #expect(remote.name == .unknownObject)
            }
            await #expect(throws: (any Error).self) { try await session.connect() }
            #expect(access(session.path, F_OK) != 0)
        }
    }

    @Test func callsThatHaveArrivedAreAnswered() async throws {
        try await withSession { session in
            let program = try await session.connect()
            let call = Task { try await program.call(Self.wait, Empty()) }
            try await eventually(session.waiting.withLock(\.count)) { $0 == 1 }
            await session.lane.refuseMore()
            let isAnswered = Lock(false)
            let end = Task {
                await session.lane.waitUntilAnswered()
                return isAnswered.withLock { $0 }
            }
            isAnswered.withLock { $0 = true }
            session.release()
            #expect(try await call.value == "waited")
            #expect(await end.value)
        }
    }

    @Test func closedLaneEndsItsConnections() async throws {
        try await withSession { session in
            let programs = [try await session.connect(), try await session.connect()]
            await session.lane.close()
            for program in programs { #expect(await program.connection.waitUntilClosed() == .disconnected) }
            try await eventually(session.lane.credentials(of: programs[0].name) == nil) { $0 }
        }
    }

    /// The socket of a router that was killed is replaced.
    @Test func socketOfAnEarlierRouterIsReplaced() async throws {
        try await withSession { session in
            let program = try await session.connect()
            let second = Lane(beside: session.connection)
            try await second.listen(at: session.path) { _ in }
            // A program that was connected stays with the first lane, and a new one gets the second.
            #expect(try await program.call(Self.echo, "x") == "x")
            #expect(try await session.connect().name == ":lane.1")
            await second.close()
            await second.refuseMore()
        }
    }
}
