import DBus
import Testing

/// Reading a value whose exact type does not matter.
@Suite(.timeLimit(.minutes(1))) struct ValueReadingTests {
    @Test(arguments: [
        Value.byte(7), .int16(7), .uint16(7), .int32(7), .uint32(7), .int64(7), .uint64(7),
        .variant(.variant(.uint32(7))),
    ])
    func integerOfEveryTypeIsAnInt(value: Value) {
        #expect(value.int == 7)
        #expect(value.double == 7)
        #expect(value.bool == nil && value.array == nil && value["a"] == nil)
    }

    @Test func numberThatDoesNotFitIsNoInt() {
        #expect(Value.uint64(.max).int == nil)
        #expect(Value.uint64(.max).double == Double(UInt64.max))
        #expect(Value.double(1.5).int == nil && Value.double(1.5).double == 1.5)
        #expect(Value.string("7").int == nil && Value.boolean(true).int == nil)
    }

    @Test func partsAreReadThroughVariants() {
        let list = Value.array([.variant("a"), .variant(.int32(2))], of: "v")
        let value = Value.options(["list": list, "flag": true])
        #expect(value["list"]?.array == ["a", .int32(2)])
        #expect(value["flag"]?.bool == true)
        #expect(value["nothing"] == nil)
        #expect(Value.structure(["a", .double(0.5)]).array?.last?.double == 0.5)
        #expect(Value.variant(value)["flag"] == true)
    }

    @Test func descriptionIsForPeople() {
        let value = Value.options([
            "b": .array([.byte(1), .byte(2)], of: "y"), "a": "x\n\"y\"", "c": .structure([true, .double(1)]),
        ])
        #expect(value.description == #"{"a": "x\n\"y\"", "b": [1, 2], "c": (true, 1.0)}"#)
    }
}

/// Replies as types of a program.
@Suite(.timeLimit(.minutes(1))) struct ValueDecodingTests {
    private struct Note: Decodable, Equatable {
        struct Place: Decodable, Equatable { let x, y: Double }

        let id: UInt8
        let title: String
        let tags: [String]?
        let places: [Place]
        let isDone: Bool
        let sizes: [String: Int]
    }

    private let reply: [String: Value] = [
        "id": .uint32(200), "title": "Milk", "isDone": .variant(true),
        "places": .array([.options(["x": .int32(1), "y": .double(0.5)])], of: "a{sv}"),
        "sizes": .dictionary(["a": .int64(-1)], key: "s", value: "x"), "unknown": .byte(1),
    ]

    @Test func replyBecomesAType() throws {
        let note: Note = try reply.decoded()
        #expect(
            note
                == Note(
                    id: 200,
                    title: "Milk",
                    tags: nil,
                    places: [.init(x: 1, y: 0.5)],
                    isDone: true,
                    sizes: ["a": -1]
                )
        )
        #expect(try Value.array(["a", "b"], of: "s").decoded(as: [String].self) == ["a", "b"])
        #expect(try Value.uint64(.max).decoded(as: UInt64.self) == .max)
        #expect(try Value.structure([.int16(1), .byte(2)]).decoded(as: [Int].self) == [1, 2])
    }

    @Test(arguments: [
        ("id", Value.uint32(256)), ("id", .double(1)), ("title", .int32(1)), ("isDone", .int32(1)), ("places", "x"),
        ("sizes", .array([], of: "s")), ("tags", .array([.int32(1)], of: "i")),
    ])
    func valueOfAnotherTypeNamesItsKey(key: String, value: Value) {
        let error = #expect(throws: DecodingError.self) {
            try reply.merging([key: value]) { $1 }.decoded(as: Note.self)
        }
        guard case .typeMismatch(_, let context)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.codingPath.first?.stringValue == key)
    }

    @Test func missingKeyIsNamed() {
        let error = #expect(throws: DecodingError.self) { try ["id": Value.byte(1)].decoded(as: Note.self) }
        guard case .keyNotFound(let key, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(["title", "places", "isDone", "sizes"].contains(key.stringValue))
    }
}
