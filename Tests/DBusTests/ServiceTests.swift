import Foundation
import Glibc
import PrivateBus
import Reactor
import TestSupport
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(10))) struct ServiceTests {
    private static let get = Method<Arguments<String, String>, Value>("org.freedesktop.DBus.Properties", "Get")
    private static let set = Method<Arguments<String, String, Value>, Empty>("org.freedesktop.DBus.Properties", "Set")
    private static let getAll = Method<String, [String: Value]>("org.freedesktop.DBus.Properties", "GetAll")
    private static let introspect = Method<Empty, String>("org.freedesktop.DBus.Introspectable", "Introspect")
    private static let echo = Echo.interface.rawValue

    @Test func propertiesAreReadAndSet() async throws {
        try await withPair { (pair: Pair) async throws in
            func get(_ name: String) async throws(CallError) -> Value {
                try await pair.client.call(Self.get, on: Echo.object, Arguments(Self.echo, name))
            }
            func set(_ name: String, _ value: Value) async throws(CallError) {
                _ = try await pair.client.call(Self.set, on: Echo.object, Arguments(Self.echo, name, value))
            }
            #expect(try await get("Volume") == .uint32(5))
            try await set("Volume", .uint32(11))
            let all = try await pair.client.call(Self.getAll, on: Echo.object, Self.echo)
            #expect(all == ["Volume": .uint32(11), "Version": "1"])
            await #expect(throws: CallError.remote(RemoteError(.invalidArguments, "it goes to eleven"))) {
                try await set("Volume", .uint32(12))
            }
            let wrongType = RemoteError(.invalidArguments, "wrong arguments: expected 'u', found 's'")
            await #expect(throws: CallError.remote(wrongType)) { try await set("Volume", "loud") }
            await #expect(throws: CallError.remote(RemoteError(.propertyReadOnly, "Version cannot be set"))) {
                try await set("Version", "2")
            }
        }
    }

    /// The specification lets a caller leave out the interface.
    @Test func propertiesAreFoundWithoutTheirInterface() async throws {
        try await withPair { (pair: Pair) async throws in
            let other: InterfaceName = "com.example.Echo2"
            let properties = [("Volume", "quiet"), ("Size", "large")].map { name, value in
                ExportedInterface.Member.property(Property<String>(other, MemberName(stringLiteral: name))) { value }
            }
            await pair.service.export([ExportedInterface(other, properties)], at: Echo.path)
            let client = pair.client
            #expect(try await client.call(Self.get, on: Echo.object, Arguments("", "Volume")) == .uint32(5))
            #expect(try await client.call(Self.get, on: Echo.object, Arguments("", "Size")) == "large")
            let all = try await client.call(Self.getAll, on: Echo.object, "")
            #expect(all == ["Volume": .uint32(5), "Version": "1", "Size": "large"])
            _ = try await client.call(Self.set, on: Echo.object, Arguments("", "Volume", .uint32(7)))
            #expect(try await client.call(Self.get, on: Echo.object, Arguments("", "Volume")) == .uint32(7))
        }
    }

    @Test func changedPropertyIsAnnounced() async throws {
        try await withPair { (pair: Pair) async throws in
            let changed = Signal<Arguments<String, [String: Value], [String]>>(
                "org.freedesktop.DBus.Properties",
                "PropertiesChanged"
            )
            let rule = MatchRule(sender: Echo.name, path: Echo.path, arguments: [0: Self.echo])
            var iterator = try await pair.client.signals(changed, matching: rule).makeAsyncIterator()
            try await pair.service.emitChange(of: Property<String>(Echo.interface, "Missing"), at: Echo.path)
            try await pair.service.emitChange(of: Echo.volume, at: "/elsewhere")
            try await pair.service.emitChange(of: Echo.volume, at: Echo.path)
            let signal = try #require(await iterator.next())
            #expect(signal.body.values == (Self.echo, ["Volume": .uint32(5)], []))
        }
    }

    @Test func introspectionDescribesTheExports() async throws {
        try await withPair { (pair: Pair) async throws in
            await pair.service.export([], at: "/com/example/Echo/below/it")
            let xml = try await pair.client.call(Self.introspect, on: Echo.object, Empty())
            for part in [
                "<interface name=\"com.example.Echo1\">",
                "<arg name=\"values\" type=\"av\" direction=\"out\"/>",
                "<property name=\"Volume\" type=\"u\" access=\"readwrite\">",
                "<property name=\"Version\" type=\"s\" access=\"read\">",
                "<signal name=\"Played\">",
                "<signal name=\"PropertiesChanged\">",
                "org.freedesktop.DBus.Peer",
                "<node name=\"below\"/>",
            ] { #expect(xml.contains(part), "\(part)") }
            let above = try await pair.client.call(Self.introspect, on: RemoteObject(Echo.name, "/com"), Empty())
            #expect(above.contains("<node name=\"example\"/>") && !above.contains("<interface"))
            await pair.service.unexport("/com/example/Echo/below/it")
            #expect(try await !pair.client.call(Self.introspect, on: Echo.object, Empty()).contains("below"))
        }
    }

    /// The code generator of Qt stops at the first dictionary without the name of its C++ type.
    @Test func introspectionNamesTheTypesOfQt() async throws {
        try await withPair { (pair: Pair) async throws in
            let interface: InterfaceName = "com.example.Types1"
            typealias Options = [String: Value]
            let merge = Method<Arguments<String, Options>, [Options]>(interface, "Merge", inputs: ["<key>", "a&\"b\""])
            let table = Property<[String: [String]]>(interface, "Table")
            let changed = Signal<[Int32: [[UInt8]]]>(interface, "Changed")
            let trace = Method<Empty, [Step]>(interface, "Trace")
            await pair.service.export(
                [
                    ExportedInterface(
                        interface,
                        [
                            .method(trace) { _, _ in [] }, .method(merge) { _, _ in [] }, .property(table) { [:] },
                            .signal(changed),
                        ]
                    )
                ],
                at: "/types"
            )
            let xml = try await pair.client.call(Self.introspect, on: RemoteObject(Echo.name, "/types"), Empty())
            for part in [
                "<arg name=\"&lt;key&gt;\" type=\"s\" direction=\"in\"/>",
                "<arg name=\"a&amp;&quot;b&quot;\" type=\"a{sv}\" direction=\"in\"/>",
                "<annotation name=\"org.qtproject.QtDBus.QtTypeName.In1\" value=\"QVariantMap\"/>",
                "<annotation name=\"org.qtproject.QtDBus.QtTypeName.Out0\" value=\"QList&lt;QVariantMap&gt;\"/>",
                "<annotation name=\"org.qtproject.QtDBus.QtTypeName\" value=\"QMap&lt;QString,QStringList&gt;\"/>",
                "QtTypeName.Out0\" value=\"QList&lt;DBusStructure_sb&gt;\"/>",
                "QtTypeName.Out0\" value=\"QMap&lt;int,QList&lt;QByteArray&gt;&gt;\"/>",
            ] { #expect(xml.contains(part), "\(part)\n\(xml)") }
            #expect(!xml.contains("QtTypeName.In0\" value=\"QString"))
        }
    }

    @Test func gdbusReadsTheIntrospection() async throws {
        try await withPair { (pair: Pair) async throws in
            let output = try run(
                ["gdbus", "introspect", "--session", "--recurse", "--dest", Echo.name.rawValue, "--object-path", "/"],
                on: pair.bus
            )
            for part in [
                "interface com.example.Echo1 {", "String(in  s text,", "out s text);", "Never();",
                "Played(s title,", "readwrite u Volume = 5;", "readonly s Version = '1';", "node /com/example/Echo {",
            ] { #expect(output.contains(part), "\(part)\n\(output)") }
        }
    }

    @Test func callWithoutAnInterfaceReachesTheMethod() async throws {
        try await withPair { (pair: Pair) async throws in
            let output = try run(
                [
                    "dbus-send", "--session", "--print-reply=literal", "--dest=\(Echo.name)", Echo.path.rawValue,
                    "com.example.Echo1.String", "string:x",
                ],
                on: pair.bus
            )
            #expect(output.trimmingCharacters(in: .whitespacesAndNewlines) == "x")
            let python = try pythonProgram("call_without_interface")
            #expect(
                try run(["/usr/bin/python3", "-c", python, Echo.name.rawValue, Echo.path.rawValue], on: pair.bus)
                    == "y\n"
            )
        }
    }

    @Test func callsOfOneSenderStartInOrderAndASlowCallDelaysNoOther() async throws {
        try await withPair { (pair: Pair) async throws in
            let started = Lock<[UInt32]>([])
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            let method = Method<UInt32, UInt32>("com.example.Order1", "Start", inputs: ["number"], outputs: ["number"])
            await pair.service.export(
                [
                    ExportedInterface(
                        "com.example.Order1",
                        [
                            .method(method) { _, number in
                                started.withLock { $0.append(number) }
                                if number == 0 { for await _ in gate {} }
                                return number
                            }
                        ]
                    )
                ],
                at: "/order"
            )
            let object = RemoteObject(Echo.name, "/order")
            let client = pair.client
            // The caller sends all calls in the order of their numbers before it waits for the first answer.
            let calls = await Caller(client).inOrder(0..<500) { try await client.call(method, on: object, $0) }
            for (number, call) in calls.enumerated().dropFirst() {
                #expect(try await call.value == UInt32(number))
            }
            #expect(started.withLock { $0 } == Array(0..<500))
            open.finish()
            #expect(try await calls[0].value == 0)
        }
    }

    @Test func eachSenderGetsHalfOfTheCallsThatAreLeft() async throws {
        var limits = ConnectionLimits()
        limits.calls = 8
        try await withPair(serviceLimits: limits) { (pair: Pair) async throws in
            let other = try await Connection.open(.address(pair.bus.address), on: pair.bus.makeLoop())
            let full = CallError.remote(
                RemoteError(.limitsExceeded, "too many calls of this program are waiting for an answer")
            )
            func hang(_ connection: Connection, _ count: UInt32) async -> [Task<Empty, any Error>] {
                await Caller(connection).inOrder(0..<count) { _ in
                    try await connection.call(Echo.never, on: Echo.object, Empty(), timeout: nil)
                }
            }
            let first = await hang(pair.client, 4)
            await #expect(throws: full) { try await pair.client.call(Echo.string, on: Echo.object, "") }
            let second = await hang(other, 2)
            await #expect(throws: full) { try await other.call(Echo.string, on: Echo.object, "") }
            await pair.service.close()
            for call in first + second {
                await #expect(throws: CallError.self) { try await call.value }
            }
            await other.close()
            other.loop.stop()
        }
    }

    @Test func closedServiceCancelsItsMethods() async throws {
        try await withPair { (pair: Pair) async throws in
            let (began, begin) = AsyncStream.makeStream(of: Void.self)
            let (ended, end) = AsyncStream.makeStream(of: Bool.self)
            let method = Method<Empty, Empty>("com.example.Wait1", "Wait")
            let interface = ExportedInterface(
                "com.example.Wait1",
                [
                    .method(method) { _, _ in
                        begin.yield()
                        do {
                            try await Task.sleep(for: .seconds(3600))
                        } catch {
                            end.yield(Task.isCancelled)
                        }
                        return Empty()
                    }
                ]
            )
            await pair.service.export([interface], at: "/wait")
            let call = Task {
                try await pair.client.call(method, on: RemoteObject(Echo.name, "/wait"), Empty(), timeout: nil)
            }
            var beginning = began.makeAsyncIterator()
            await beginning.next()
            await pair.service.close()
            var ending = ended.makeAsyncIterator()
            #expect(await ending.next() == true)
            await #expect(throws: CallError.self) { try await call.value }
        }
    }

    @Test func everyObjectAnswersPing() async throws {
        try await withPair { (pair: Pair) async throws in
            let ping = Method<Empty, Empty>("org.freedesktop.DBus.Peer", "Ping")
            #expect(try await pair.client.call(ping, on: RemoteObject(Echo.name, "/anything"), Empty()) == Empty())
        }
    }

    @Test func callWithoutAnAnswerRunsTheMethod() async throws {
        try await withPair { (pair: Pair) async throws in
            let (received, receive) = AsyncStream.makeStream(of: String.self)
            let method = Method<String, String>("com.example.Note1", "Note", inputs: ["text"], outputs: ["text"])
            let interface = ExportedInterface(
                "com.example.Note1",
                [
                    .method(method) { _, text in
                        receive.yield(text)
                        return text
                    }
                ]
            )
            await pair.service.export([interface], at: "/note")
            try await pair.client.send(method, on: RemoteObject(Echo.name, "/note"), "a")
            var iterator = received.makeAsyncIterator()
            #expect(await iterator.next() == "a")
        }
    }
}

/// Runs a program on a bus and returns its output.
func run(_ command: [String], on bus: PrivateBus) throws -> String {
    let process = ChildProcess()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    // With this locale GLib's tools read and print UTF-8 on every machine.
    process.environment = bus.environment.merging(["LC_ALL": "C.UTF-8"]) { $1 }
    let output = Foundation.Pipe()
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
}

/// A structure that is only described.
private struct Step: DBusType {
    static var signature: Signature { "(sb)" }

    init(from reader: inout MessageReader) throws(MessageDecodingError) {}
    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {}
}
