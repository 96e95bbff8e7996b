import PrivateBus
import Testing

@testable import DBus

// Rows 0 to 18: strings, names and paths.
extension TrapTests {
    // A `String` never holds invalid UTF-8. A string from invalid bytes has replacement characters instead.
    @Test(
        "0: a string that is no UTF-8 (abort)",
        arguments: [[0xFF], [0x61, 0xC3], [0xC0, 0x80], [0xF5, 0x80, 0x80, 0x80]]
    )
    func invalidUTF8(_ bytes: [UInt8]) throws {
        #expect(String(validating: bytes, as: UTF8.self) == nil)
        let repaired = String(decoding: bytes, as: UTF8.self)
        #expect(try roundTrip(repaired) == repaired)
    }

    // A `String` never holds half of a surrogate pair.
    @Test("1: a surrogate in a string (abort)", arguments: [[0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF]])
    func surrogate(_ bytes: [UInt8]) throws {
        #expect(String(validating: bytes, as: UTF8.self) == nil)
        let repaired = String(decoding: bytes, as: UTF8.self)
        #expect(try roundTrip(repaired) == repaired)
    }

    @Test("2: characters that are none, and the last one (accepted)")
    func noncharacters() throws {
        #expect(try roundTrip("\u{FFFE}\u{FFFF}\u{10FFFF}") == "\u{FFFE}\u{FFFF}\u{10FFFF}")
    }

    @Test("3: a NUL in a string (the rest is lost without a word)")
    func nulInString() async throws {
        #expect(refusal(of: "ab\0cd") == .nulInString)
        #expect(refusal(of: Value.variant(.string("\0"))) == .nulInString)
        #expect(refusal(of: ["\0": true]) == .nulInString)
        try await withPair { (pair: Pair) async throws in
            await #expect(throws: CallError.notSent(.nulInString)) {
                try await pair.client.call(Echo.string, on: Echo.object, "ab\0cd")
            }
            #expect(throws: CallError.notSent(.nulInString)) {
                try BlockingConnection(.address(pair.bus.address)).call(Echo.string, on: Echo.object, "ab\0cd")
            }
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "still there") == "still there")
        }
    }

    // Only an `ObjectPath` makes a value of type `o`.
    @Test("4, 5: an object path that is none, as a value (abort)", arguments: ["/a/", "nope", "", "//", "/a//b", "/é"])
    func objectPathAsValue(_ text: String) {
        #expect(ObjectPath(text) == nil)
    }

    // Only a `Signature` makes a value of type `g`.
    @Test("6: a signature that is none, as a value (abort)", arguments: ["a", "(", "a{vs}", "z", "()"])
    func signatureAsValue(_ text: String) {
        #expect(Signature(text) == nil)
    }

    // A boolean is a `Bool`, and a number does not convert to a boolean.
    @Test("7: a boolean that is neither 0 nor 1 (abort)")
    func boolean() throws {
        #expect(try roundTrip(true) && !roundTrip(false))
        #expect(
            refusal(of: Liar<Bool> { (w) throws(MessageEncodingError) in try w.append(UInt32(2)) })
                == .inconsistentValue
        )
    }

    // Calls and signals take `BusName`, `ObjectPath`, `InterfaceName` and `MemberName`, and no strings.
    @Test("8: a destination that is none (abort)", arguments: ["nodot", "", "a..b", ".a", "a.1b", "a.b/", "é.a"])
    func destination(_ text: String) {
        #expect(BusName(text) == nil)
    }

    @Test("9: the path of a call or a signal that is none (abort)", arguments: ["", "a", "/a/", "/a-b"])
    func path(_ text: String) {
        #expect(ObjectPath(text) == nil)
    }

    @Test("10: an interface without a dot (abort)", arguments: ["nodot", "", "a.", "a.1b", "a.b-c"])
    func interface(_ text: String) {
        #expect(InterfaceName(text) == nil)
    }

    @Test("11: a hyphen in a member's name (abort)", arguments: ["c-d", "c.d", "1c", ""])
    func member(_ text: String) {
        #expect(MemberName(text) == nil)
    }

    @Test("12: a member's name that is not ASCII (abort)", arguments: ["é", "C\u{0301}", "Ｃ"])
    func memberBeyondASCII(_ text: String) {
        #expect(MemberName(text) == nil)
    }

    // `RemoteError` takes an `ErrorName`.
    @Test("13: an error's name that is none (abort)", arguments: ["nodot", "", "a.b-c", "a.1"])
    func errorName(_ text: String) {
        #expect(ErrorName(text) == nil)
    }

    // Every text of an error is sent. A NUL becomes a space.
    @Test(
        "14: an error's text that is no UTF-8 (abort)",
        arguments: [("a\0b", "a b"), ("", ""), (String(decoding: [0x61, 0xFF], as: UTF8.self), "a\u{FFFD}")]
    )
    func errorText(_ text: String, _ expected: String) throws {
        let address = ReplyAddress(sender: ":1.1", serial: 5, isExpected: true)
        let message = try Message.error(to: address, RemoteError("a.b", text), limit: 4096)
        let result: Result<Empty, CallError> = Message.result(message.pointer)
        #expect(result == .failure(.remote(RemoteError("a.b", expected))))
    }

    @Test(
        "16, 54, 55: a malformed name to request, release or ask the bus about (abort)",
        arguments: [
            "", ":", ":1", "org", "org.", "org..openurl", "a\0b.c", "a b.c", String(repeating: "a.", count: 200),
        ]
    )
    func nameToRequest(_ text: String) {
        #expect(BusName(text) == nil)
    }

    @Test("17, 18: asking for a unique name, and for the bus's own (an error)")
    func reservedBusNames() async throws {
        try await withPair { (pair: Pair) async throws in
            for name in [":1.1", .bus] as [BusName] {
                do throws(CallError) {
                    _ = try await pair.client.requestName(name)
                    Issue.record("\(name) was given away")
                } catch {
                    guard case .remote(let error) = error else { throw error }
                    #expect(error.name == .invalidArguments && error.isFromBus)
                }
            }
        }
    }
}
