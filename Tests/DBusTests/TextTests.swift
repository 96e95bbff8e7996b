import TestSupport
import Testing

@testable import DBus

/// Texts that Swift compares in a time that grows with the square of their length.
@Suite(.timeLimit(.minutes(10))) struct TextTests {
    /// Marks of two combining classes by turns, which the canonical form puts in another order.
    private static func marks(_ count: Int, before: String = "a") -> String {
        before + String(repeating: "\u{301}\u{316}", count: count / 2) + (count.isMultiple(of: 2) ? "" : "\u{301}")
    }

    /// 768 KiB. One comparison takes half a minute.
    private static let worst = marks(3 << 17)
    /// The bound for one text: 20 ms for each KiB, also on a machine that does much else.
    private static let bound = Duration.seconds(15)
    private static let refusal = MessageDecodingError.invalidValue(
        "a string has more than 30 combining marks in a row"
    )

    private static func read<Body: MessageBody>(_ body: Body) throws -> Body {
        try Message(written(body)).contents(limit: .max)
    }

    @Test func textWithMarksInARowIsRefusedAboveTheLimit() throws {
        for text in [Self.marks(30), Self.marks(30) + Self.marks(30), String(repeating: "é中", count: 5000)] {
            #expect(try Self.read(text) == text)
            #expect(try Self.read([text: Value.string(text)]) == [text: .string(text)])
        }
        for text in [Self.marks(31), "中" + Self.marks(40) + "中", Self.marks(31, before: "")] {
            #expect(throws: Self.refusal) { try Self.read(text) }
            #expect(throws: Self.refusal) { try Self.read([text: UInt8(1)]) }
            #expect(throws: Self.refusal) { try Self.read(Value.string(text)) }
            let table = Value.dictionary([.string("a"): .string(text)], key: "s", value: "s")
            #expect(throws: Self.refusal) { try Self.read(table) }
        }
    }

    /// The rule has to count each scalar that Swift sorts.
    @Test func everyRunOfTheLimitIsComparedFast() throws {
        let text = String(repeating: Self.marks(30), count: 8000)
        let time = try threadTime {
            let read = try Self.read([text: UInt8(1)])
            #expect(read["b"] == nil && read[text] == 1)
        }
        #expect(time < Self.bound)
    }

    @Test func slowTextDelaysNoService() async throws {
        try await withPair { (pair: Pair) async throws in
            let client = pair.client
            let service = Echo.object
            let worst = Self.worst
            let get = Method<Arguments<String, String>, Value>("org.freedesktop.DBus.Properties", "Get")
            let set = Method<Arguments<String, String, Value>, Empty>("org.freedesktop.DBus.Properties", "Set")
            let getAll = Method<String, [String: Value]>("org.freedesktop.DBus.Properties", "GetAll")
            let text = Value.string(worst)
            let dictionary = Value.array([.structure([text, text])], of: "(ss)")
            let calls: [(String, () async throws -> Void)] = [
                ("an argument", { _ = try await client.call(Echo.string, on: service, worst) }),
                ("a variant", { _ = try await client.call(Echo.values, on: service, [text]) }),
                ("a list", { _ = try await client.call(Echo.values, on: service, [dictionary]) }),
                (
                    "Get's interface",
                    { _ = try await client.call(get, on: service, Arguments(worst, "Volume")) }
                ),
                (
                    "Get's property",
                    {
                        _ = try await client.call(get, on: service, Arguments(Echo.interface.rawValue, worst))
                    }
                ),
                ("GetAll", { _ = try await client.call(getAll, on: service, worst) }),
                (
                    "Set's interface",
                    { _ = try await client.call(set, on: service, Arguments(worst, "Volume", text)) }
                ),
                (
                    "Set's value",
                    {
                        _ = try await client.call(set, on: service, Arguments(Echo.interface.rawValue, "Volume", text))
                    }
                ),
            ]
            for (name, call) in calls {
                let time = await ContinuousClock().measure {
                    await #expect(throws: CallError.self, "\(name)") { try await call() }
                }
                #expect(time < Self.bound, "\(name)")
            }
        }
    }

    @Test func slowKeysAreRefusedBeforeTheyAreCompared() throws {
        // Two keys of one hash would be compared with each other, too.
        let entries = [Self.worst, Self.worst + "b"].map { Value.structure([.string($0), .byte(1)]) }
        let array = try written(Value.array(entries, of: "(sy)"), limit: 16 << 20).bytes
        var bytes = array
        // A structure and an entry of a dictionary have the same bytes, so the signature makes the difference.
        let places = bytes.indices.dropLast(3).filter { Array(bytes[$0...$0 + 3]) == Array("(sy)".utf8) }
        #expect(places.count == 1)
        for place in places { bytes.replaceSubrange(place...place + 3, with: Array("{sy}".utf8)) }
        let message = try Message(bytes)
        let time = threadTime {
            #expect(throws: Self.refusal) { let _: Value = try message.contents(limit: .max) }
        }
        #expect(time < Self.bound)
    }

    /// Without a bus, nothing has checked the header.
    @Test(arguments: [1, 2, 3, 4, 6, 7] as [UInt8]) func slowTextInAHeaderIsRefused(field: UInt8) throws {
        let fields: [RawMessage.Field] = [.path(field == 1 ? Self.worst : "/")]
        let texts: [UInt8: String] = [2: "a.b", 3: "C", 4: "a.b", 6: "a.b", 7: "a.b"].merging([field: Self.worst]) {
            $1
        }
        let names = texts.filter { $0.key != 1 }.map { RawMessage.Field.text($0.key, $0.value) }
        let bytes = RawMessage.bytes(1, 7, fields + names)
        let time = try threadTime {
            let message = try Message(bytes)
            #expect(!message.isValid)
        }
        #expect(time < Self.bound)
    }
}
