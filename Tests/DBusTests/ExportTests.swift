import PrivateBus
import Reactor
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(10))) struct ExportTests {
    private static let interface: InterfaceName = "com.example.Hold1"
    private static let hold = Method<Arguments<String, [UnixFD]>, Empty>(interface, "Hold")
    private static let object = RemoteObject(Echo.name, "/hold")
    private static let exported = ExportedInterface(
        interface,
        [
            .method(hold) { _, _ in
                try await Task.sleep(for: .seconds(3600))
                return Empty()
            }
        ]
    )

    private static func refusal(_ text: String) -> CallError { .remote(RemoteError(.limitsExceeded, text)) }

    @Test func argumentsOfWaitingCallsAreLimited() async throws {
        let large = Self.refusal("the arguments of calls of this program that wait for an answer are too large")
        var limits = ConnectionLimits()
        limits.argumentBytes = 200_000
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            await pair.service.export([Self.exported], at: "/hold")
            let client = pair.client
            let text = String(repeating: "x", count: 60_000)
            let calls = await Caller(client).inOrder(0..<2) { _ in
                try await client.call(Self.hold, on: Self.object, Arguments(text, []), timeout: nil)
            }
            await #expect(throws: large) { try await calls[1].value }
            // An answered call no longer counts towards the limit.
            for _ in 0..<5 {
                #expect(try await client.call(Echo.string, on: Echo.object, "x") == "x")
            }
            calls[0].cancel()
        }
    }

    @Test func descriptorsOfWaitingCallsAreLimited() async throws {
        var limits = ConnectionLimits()
        limits.descriptors = 10
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            await pair.service.export([Self.exported], at: "/hold")
            let client = pair.client
            let pipe = try Pipe()
            let calls = await Caller(client).inOrder(0..<2) { _ in
                try await client.call(
                    Self.hold,
                    on: Self.object,
                    Arguments("", Array(repeating: pipe.writeEnd, count: 3)),
                    timeout: nil
                )
            }
            let many = Self.refusal("calls of this program that wait for an answer hold too many descriptors")
            await #expect(throws: many) { try await calls[1].value }
            // Two more descriptors stay within the limit. An answer frees the descriptors of its call.
            for _ in 0..<5 {
                try await client.call(Echo.descriptor, on: Echo.object, pipe.writeEnd)
            }
            calls[0].cancel()
        }
    }

    /// D-Bus tells a service nothing of the time limit of its caller.
    @Test func callIsCountedUntilItsAnswerAlsoWhenItsCallerHasGivenUp() async throws {
        var limits = ConnectionLimits()
        limits.calls = 3
        let wait = Method<Empty, Empty>("com.example.Wait1", "Wait")
        let object = RemoteObject(Echo.name, "/wait")
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            let (gate, opener) = AsyncStream.makeStream(of: Void.self)
            let exported = ExportedInterface(
                "com.example.Wait1",
                [
                    .method(wait) { _, _ in
                        for await _ in gate { break }
                        return Empty()
                    }
                ]
            )
            await pair.service.export([exported], at: "/wait")
            let client = pair.client
            await #expect(throws: CallError.timedOut) {
                try await client.call(wait, on: object, Empty(), timeout: .milliseconds(20))
            }
            await #expect(throws: Self.refusal("too many calls of this program are waiting for an answer")) {
                try await client.call(Echo.string, on: Echo.object, "")
            }
            opener.yield()
            await pair.service.waitUntilAnswered()
            #expect(try await client.call(Echo.string, on: Echo.object, "x") == "x")
        }
    }

    private static let inTask = Method<UInt32, UInt32>("com.example.Both1", "InTask")
    private static let immediate = Method<UInt32, UInt32>("com.example.Both1", "Immediate")

    @Test(arguments: [false, true]) func callsOfBothFormsStartInOrderAndHaveOneAnswer(isChecked: Bool) async throws {
        let started = Lock<[UInt32]>([])
        let interface = ExportedInterface(
            "com.example.Both1",
            [
                .method(Self.inTask) { _, number in
                    started.withLock { $0.append(number) }
                    return number
                },
                .method(answering: Self.immediate) { _, number, answer in
                    started.withLock { $0.append(number) }
                    if number == 51 { return answer(.failure(RemoteError("com.example.Odd", "odd"))) }
                    // The answer comes from another thread.
                    Task.detached {
                        answer(.success(number))
                        answer(.failure(RemoteError("com.example.Late", "late")))
                    }
                },
            ]
        )
        try await withPair { (pair: Pair) async throws in
            await pair.service.export([isChecked ? interface.checked { _ in { _ in } } : interface], at: "/both")
            let client = pair.client
            let calls = await Caller(client).inOrder(0..<100) { number in
                let method = number.isMultiple(of: 2) ? Self.inTask : Self.immediate
                return try await client.call(method, on: RemoteObject(Echo.name, "/both"), UInt32(number))
            }
            for (number, call) in calls.enumerated() where number != 51 {
                #expect(try await call.value == UInt32(number))
            }
            let odd = CallError.remote(RemoteError("com.example.Odd", "odd"))
            await #expect(throws: odd) { try await calls[51].value }
            #expect(started.withLock(\.self) == Array(0..<100))
            await pair.service.waitUntilAnswered()
        }
    }

    @Test func onlyMethodsWithACheckAreChecked() async throws {
        let interface = ExportedInterface(
            Self.inTask.interface,
            [
                .method(Self.inTask) { _, number in number },
                .method(answering: Self.immediate) { _, number, answer in answer(.success(number)) },
            ]
        )
        let refusal = RemoteError("com.example.No", "no")
        for refused in [Self.inTask, Self.immediate] {
            let checked = interface.checked { name in
                guard name == refused.name else { return nil }
                return { _ in throw refusal }
            }
            try await withPair { (pair: Pair) async throws in
                await pair.service.export([checked], at: "/checked")
                for method in [Self.inTask, Self.immediate] {
                    let object = RemoteObject(Echo.name, "/checked")
                    if method.name == refused.name {
                        await #expect(throws: CallError.remote(refusal)) {
                            try await pair.client.call(method, on: object, 7)
                        }
                    } else {
                        #expect(try await pair.client.call(method, on: object, 7) == 7)
                    }
                }
            }
        }
    }

    private static let whereabouts = Method<Empty, String>("com.example.Where1", "Where")

    @Test func subtreeAnswersForEveryPathBelowIts() async throws {
        try await withPair { (pair: Pair) async throws in
            let exported = ExportedInterface(
                "com.example.Where1",
                [.method(Self.whereabouts) { call, _ in call.path.rawValue }]
            )
            await pair.service.exportSubtree([exported], below: "/tree")
            for path: ObjectPath in ["/tree/a", "/tree/a/b"] {
                let object = RemoteObject(Echo.name, path)
                #expect(try await pair.client.call(Self.whereabouts, on: object, Empty()) == path.rawValue)
            }
            for path: ObjectPath in ["/tree", "/trees", "/other/tree/a"] {
                await #expect(throws: CallError.self) {
                    try await pair.client.call(Self.whereabouts, on: RemoteObject(Echo.name, path), Empty())
                }
            }
            let introspect = Method<Empty, String>("org.freedesktop.DBus.Introspectable", "Introspect")
            let root = try await pair.client.call(introspect, on: RemoteObject(Echo.name, "/tree"), Empty())
            #expect(!root.contains("<node name"))
            let below = try await pair.client.call(introspect, on: RemoteObject(Echo.name, "/tree/a"), Empty())
            #expect(below.contains("com.example.Where1"))
            let top = try await pair.client.call(introspect, on: RemoteObject(Echo.name, "/"), Empty())
            #expect(top.contains("<node name=\"tree\"/>"))
        }
    }

    @Test func innermostSubtreeAnswers() {
        var tree = ObjectTree()
        let interfaces: [ObjectPath: InterfaceName] = [
            "/": "com.example.Top1", "/a": "com.example.A1", "/a/b": "com.example.B1", "/a/b/c": "com.example.C1",
        ]
        for (path, interface) in interfaces {
            let method = Method<Empty, Empty>(interface, "Do")
            tree.addSubtree([ExportedInterface(interface, [.method(method) { _, _ in Empty() }])], below: path)
        }
        let answering: [(ObjectPath, InterfaceName)] = [
            ("/x", "com.example.Top1"), ("/x/y", "com.example.Top1"), ("/a", "com.example.Top1"),
            ("/ab", "com.example.Top1"), ("/a/x", "com.example.A1"), ("/a/b", "com.example.A1"),
            ("/a/b/x", "com.example.B1"), ("/a/b/c", "com.example.B1"), ("/a/b/c/x/y", "com.example.C1"),
        ]
        for (path, interface) in answering {
            #expect(throws: Never.self, "\(path)") { try tree.method(path, interface, "Do").get() }
        }
        #expect(throws: RemoteError.self) { try tree.method("/", "com.example.Top1", "Do").get() }
    }

    @Test func cancelledTaskOfACallStillAnswers() async throws {
        let interface: InterfaceName = "com.example.Stop1"
        let stop = Method<Empty, String>(interface, "Stop")
        try await withPair { (pair: Pair) async throws in
            let exported = ExportedInterface(
                interface,
                [
                    .method(stop) { call, _ in
                        call.cancelTask()
                        return Task.isCancelled ? "cancelled" : "running"
                    }
                ]
            )
            await pair.service.export([exported], at: "/stop")
            #expect(try await pair.client.call(stop, on: RemoteObject(Echo.name, "/stop"), Empty()) == "cancelled")
        }
    }

    @Test func argumentsWithoutNamesAreNumbered() async throws {
        let exported = ExportedInterface(Self.interface, [.method(Self.hold) { _, _ in Empty() }])
        let xml = Introspection.xml([exported], children: [])
        #expect(xml.contains("<arg name=\"arg0\" type=\"s\" direction=\"in\"/>"))
        #expect(xml.contains("<arg name=\"arg1\" type=\"ah\" direction=\"in\"/>"))
    }

    @Test func propertyChangeSignalsMatchTheirDescription() async throws {
        try await withPair { (pair: Pair) async throws in
            let kinds: [PropertyChange] = [.never, .value, .invalidation, .constant]
            let properties = kinds.indices.map { Property<UInt32>(Self.interface, MemberName("P\($0)") ?? "P") }
            let exported = ExportedInterface(
                Self.interface,
                zip(kinds, properties).map { kind, property in .property(property, emitsChange: kind) { 7 } }
            )
            await pair.service.export([exported], at: "/hold")
            let xml = Introspection.xml([exported], children: [])
            let annotation = "org.freedesktop.DBus.Property.EmitsChangedSignal"
            #expect(xml.contains("<property name=\"P1\" type=\"u\" access=\"read\"/>"))
            for kind in kinds where kind != .value {
                #expect(xml.contains("<annotation name=\"\(annotation)\" value=\"\(kind.rawValue)\"/>"))
            }
            let rule = MatchRule(sender: Echo.name, arguments: [0: Self.interface.rawValue])
            var iterator = try await pair.client.signals(PropertiesInterface.changed, matching: rule)
                .makeAsyncIterator()
            try await pair.service.emitChange(of: properties[1], at: "/hold")
            try await pair.service.emitChange(of: properties[2], at: "/hold")
            let interface = Self.interface.rawValue
            #expect(try #require(await iterator.next()).body.values == (interface, ["P1": .uint32(7)], []))
            #expect(try #require(await iterator.next()).body.values == (interface, [:], ["P2"]))
        }
    }

    @Test func remotePropertiesAreReadAndSet() async throws {
        try await withPair { (pair: Pair) async throws in
            try await pair.client.set(Echo.volume, on: Echo.object, to: 3)
            #expect(try await pair.client.get(Echo.volume, on: Echo.object) == 3)
            #expect(
                try await pair.client.getAll(Echo.interface, on: Echo.object) == ["Volume": .uint32(3), "Version": "1"]
            )
            await #expect(throws: CallError.remote(RemoteError(.invalidArguments, "it goes to eleven"))) {
                try await pair.client.set(Echo.volume, on: Echo.object, to: 12)
            }
        }
    }

    @Test func methodSeesThePeersCredentials() async throws {
        let user = Method<Empty, UInt32>("com.example.Who1", "User")
        try await withPeers { _, client, accepted in
            var iterator = accepted.makeAsyncIterator()
            let server = try #require(await iterator.next())
            let interface = ExportedInterface(
                "com.example.Who1",
                [.method(user) { call, _ in await call.connection.peerCredentials?.pid ?? 0 }]
            )
            await server.export([interface], at: "/who")
            let pid = try #require(await client.peerCredentials?.pid)
            #expect(try await client.call(user, on: RemoteObject(nil, "/who"), Empty()) == pid)
        }
    }
}
