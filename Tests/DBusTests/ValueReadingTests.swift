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
