import PrivateBus
import Testing

@testable import DBus

// Rows 0 to 18 except 15, and rows 54 and 55: strings, names and paths.
extension TrapTests {
    /// Row 0: a string that is not UTF-8 (abort).
    ///
    /// A `String` never holds invalid UTF-8. A string from invalid bytes has replacement characters instead.
    @Test(
        arguments: [[0xFF], [0x61, 0xC3], [0xC0, 0x80], [0xF5, 0x80, 0x80, 0x80]]
    )
    func invalidUTF8IsReplaced(_ bytes: [UInt8]) throws {
        #expect(String(validating: bytes, as: UTF8.self) == nil)
        let repaired = String(decoding: bytes, as: UTF8.self)
        #expect(try roundTrip(repaired) == repaired)
    }

    /// Row 1: a surrogate in a string (abort).
    ///
    /// A `String` never holds half of a surrogate pair.
    @Test(arguments: [[0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF]])
    func surrogateIsReplaced(_ bytes: [UInt8]) throws {
        #expect(String(validating: bytes, as: UTF8.self) == nil)
        let repaired = String(decoding: bytes, as: UTF8.self)
        #expect(try roundTrip(repaired) == repaired)
    }

    /// Row 2: noncharacters, and the last code point (accepted).
    @Test func noncharactersAreKept() throws {
        #expect(try roundTrip("\u{FFFE}\u{FFFF}\u{10FFFF}") == "\u{FFFE}\u{FFFF}\u{10FFFF}")
    }

    /// Row 3: a NUL in a string (the rest is silently lost).
    @Test func nulInAStringIsRefused() async throws {
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

    /// Rows 4 and 5: an invalid object path as a value (abort).
    ///
    /// Only an `ObjectPath` makes a value of type `o`.
    @Test(arguments: ["/a/", "nope", "", "//", "/a//b", "/é"])
    func invalidObjectPathValueIsRefused(_ text: String) {
        #expect(ObjectPath(text) == nil)
    }

    /// Row 6: an invalid signature as a value (abort).
    ///
    /// Only a `Signature` makes a value of type `g`.
    @Test(arguments: ["a", "(", "a{vs}", "z", "()"])
    func invalidSignatureValueIsRefused(_ text: String) {
        #expect(Signature(text) == nil)
    }

    /// Row 7: a boolean that is neither 0 nor 1 (abort).
    ///
    /// A boolean is a `Bool`, and a number does not convert to a boolean.
    @Test func invalidBooleanIsRefused() throws {
        #expect(try roundTrip(true) && !roundTrip(false))
        #expect(
            refusal(of: Liar<Bool> { (w) throws(MessageEncodingError) in try w.append(UInt32(2)) })
                == .inconsistentValue
        )
    }

    /// Row 8: an invalid destination (abort).
    ///
    /// Calls and signals take `BusName`, `ObjectPath`, `InterfaceName` and `MemberName`, and no strings.
    @Test(arguments: ["nodot", "", "a..b", ".a", "a.1b", "a.b/", "é.a"])
    func invalidDestinationIsRefused(_ text: String) {
        #expect(BusName(text) == nil)
    }

    /// Row 9: an invalid path of a call or a signal (abort).
    @Test(arguments: ["", "a", "/a/", "/a-b"])
    func invalidPathIsRefused(_ text: String) {
        #expect(ObjectPath(text) == nil)
    }

    /// Row 10: an interface without a dot (abort).
    @Test(arguments: ["nodot", "", "a.", "a.1b", "a.b-c"])
    func interfaceWithoutADotIsRefused(_ text: String) {
        #expect(InterfaceName(text) == nil)
    }

    /// Row 11: a hyphen in a member name (abort).
    @Test(arguments: ["c-d", "c.d", "1c", ""])
    func hyphenInAMemberNameIsRefused(_ text: String) {
        #expect(MemberName(text) == nil)
    }

    /// Row 12: a member name that is not ASCII (abort).
    @Test(arguments: ["é", "C\u{0301}", "Ｃ"])
    func memberNameBeyondASCIIIsRefused(_ text: String) {
        #expect(MemberName(text) == nil)
    }

    /// Row 13: an invalid error name (abort).
    ///
    /// `RemoteError` takes an `ErrorName`.
    @Test(arguments: ["nodot", "", "a.b-c", "a.1"])
    func invalidErrorNameIsRefused(_ text: String) {
        #expect(ErrorName(text) == nil)
    }

    /// Row 14: an error text that is not UTF-8 (abort).
    ///
    /// Every text of an error is sent. A NUL becomes a space.
    @Test(
        arguments: [("a\0b", "a b"), ("", ""), (String(decoding: [0x61, 0xFF], as: UTF8.self), "a\u{FFFD}")]
    )
    func errorTextIsSentWithReplacements(_ text: String, _ expected: String) throws {
        let address = ReplyAddress(sender: ":1.1", serial: 5, isExpected: true)
        let message = try Message(.error(to: address, RemoteError("a.b", text), limit: 4096))
        let result: Result<Empty, CallError> = message.result()
        #expect(result == .failure(.remote(RemoteError("a.b", expected))))
    }

    /// Rows 16, 54 and 55: a malformed name to request, release or ask the bus about (abort).
    @Test(
        arguments: [
            "", ":", ":1", "org", "org.", "org..openurl", "a\0b.c", "a b.c", String(repeating: "a.", count: 200),
        ]
    )
    func malformedBusNameIsRefused(_ text: String) {
        #expect(BusName(text) == nil)
    }

    /// Rows 17 and 18: requests for a unique name and for the bus's own name (an error).
    @Test func reservedBusNameCannotBeRequested() async throws {
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
