import DBus
import PrivateBus
import Reactor
import Testing

private enum Echo {
    static let name: BusName = "com.example.Echo"
    static let interface: InterfaceName = "com.example.Echo1"
    static let object = RemoteObject(name, "/com/example/Echo")
    static let options = Method<Arguments<String, [String: Value]>, [String: Value]>(
        interface,
        "Options",
        inputs: ["key", "options"],
        outputs: ["options"]
    )
    static let never = Method<Empty, Empty>(interface, "Never")
    static let fail = Method<String, Empty>(interface, "Fail", inputs: ["text"])
}

@Suite struct CallTests {
    @Test func aCallReachesAnExportedMethodAndItsAnswerComesBack() async throws {
        let bus = try PrivateBus()
        defer { bus.stop() }
        let loop = try EventLoop()
        let service = try await Connection.open(.address(bus.address), on: loop)
        await service.export(
            [
                ExportedInterface(
                    Echo.interface,
                    [
                        .method(Echo.options) { call, input in
                            var options = input.values.1
                            options["key"] = .string(input.values.0)
                            options["sender"] = call.sender.map { .string($0.rawValue) }
                            return options
                        },
                        .method(Echo.never) { _, _ in
                            try await Task.sleep(for: .seconds(3600))
                            return Empty()
                        },
                        .method(Echo.fail) { _, text in throw RemoteError("com.example.Error.Told", text) },
                    ]
                )
            ],
            at: Echo.object.path
        )
        #expect(try await service.requestName(Echo.name) == .owned)

        let client = try await Connection.open(.address(bus.address), on: try EventLoop())
        #expect(try await client.requestName(Echo.name) == .taken)
        let nested: Value = .array([.structure([.int32(-1), .double(0.5)])], of: "(id)")
        let answer = try await client.call(Echo.options, on: Echo.object, Arguments("k", ["nested": nested]))
        #expect(answer == ["key": "k", "nested": nested, "sender": .string(client.uniqueName?.rawValue ?? "")])

        await #expect(throws: CallError.remote(RemoteError("com.example.Error.Told", "why"))) {
            try await client.call(Echo.fail, on: Echo.object, "why")
        }
        await #expect(throws: CallError.timedOut) {
            try await client.call(Echo.never, on: Echo.object, Empty(), timeout: .milliseconds(20))
        }
        await #expect(throws: CallError.notSent(.nulInString)) {
            try await client.call(Echo.fail, on: Echo.object, "a\0b")
        }
        let cancelled = Task { try await client.call(Echo.never, on: Echo.object, Empty(), timeout: nil) }
        cancelled.cancel()
        await #expect(throws: CallError.cancelled) { try await cancelled.value }

        let hanging = Task { try await client.call(Echo.never, on: Echo.object, Empty(), timeout: nil) }
        await Task.yield()
        bus.stop()
        await #expect(throws: CallError.disconnected) { try await hanging.value }
        await client.waitUntilClosed()
        await service.waitUntilClosed()
    }
}
