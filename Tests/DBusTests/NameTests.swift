import CDBus
import DBus
import TestSupport
import Testing

/// Each rule of the names, compared with libdbus on the same input.
@Suite struct NameTests {
    private static let rounds = 4000

    /// - Parameter isStricter: Whether the specification refuses a text that libdbus accepts.
    private func compare<Name: ValidatedName>(
        _ type: Name.Type,
        alphabet: String,
        examples: [String],
        isStricter: (String) -> Bool = { _ in false },
        with oracle: (String) -> Bool
    ) {
        var random = SeededGenerator(seed: 1)
        let lengths = [0...3, 0...12, 0...60, 240...270]
        let generated = (0..<Self.rounds).map { _ in random.text(of: alphabet, length: random.pick(lengths)) }
        var accepted = 0
        var different: [String] = []
        for text in examples + generated where !text.utf8.contains(0) {
            let isValid = Name(text) != nil
            if isValid { accepted += 1 }
            let isValidForLibdbus = oracle(text)
            if isValid != isValidForLibdbus, isValid || !isStricter(text) { different.append(text) }
        }
        #expect(different == [])
        #expect(accepted > 50, "the input has to hit both sides of the rule")
        #expect(Name("a\0b") == nil && Name("/a\0") == nil && Name("\0") == nil)
    }

    private static let boundaries: [String] = [253, 254, 255, 256, 257].flatMap { (length: Int) -> [String] in
        ["a.", ":1.", "c", "/"].map { $0 + String(repeating: "2", count: length - $0.count) }
            + ["a.", ":1.", "c", "/"].map { $0 + String(repeating: "d", count: length - $0.count) }
    }

    @Test func busNamesAgreeWithLibdbus() {
        compare(
            BusName.self,
            alphabet: "aZ_09-.:.b",
            examples: Self.boundaries + [":", ":a", ":1.0", "a.-", "-.a", "é.a"],
            // libdbus accepts a unique name with only one element or with an empty element.
            isStricter: { $0.hasPrefix(":") }
        ) {
            dbus_validate_bus_name($0, nil) != 0
        }
    }

    @Test func objectPathsAgreeWithLibdbus() {
        compare(ObjectPath.self, alphabet: "aZ_09/", examples: Self.boundaries + ["/", "//", "/a/", "", "a", "/é"]) {
            dbus_validate_path($0, nil) != 0
        }
    }

    @Test func interfaceNamesAgreeWithLibdbus() {
        compare(InterfaceName.self, alphabet: "aZ_09..b", examples: Self.boundaries + ["a", ".a", "a.", "a..b", "a.1"])
        {
            dbus_validate_interface($0, nil) != 0
        }
    }

    @Test func errorNamesAgreeWithLibdbus() {
        compare(ErrorName.self, alphabet: "aZ_09..b", examples: Self.boundaries + ["a", ".a", "a.", "a..b", "a.1"]) {
            dbus_validate_error_name($0, nil) != 0
        }
    }

    @Test func memberNamesAgreeWithLibdbus() {
        compare(MemberName.self, alphabet: "aZ_09b", examples: Self.boundaries + ["", "1a", "a-b", "a.b", "ü"]) {
            dbus_validate_member($0, nil) != 0
        }
    }

    @Test func signaturesAgreeWithLibdbus() {
        let brackets = [("a", ""), ("(", ")"), ("a(", ")"), ("a{s", "}"), ("(a", ")"), ("aa(", ")")]
        let deep: [String] = (15...34).flatMap { (depth: Int) -> [String] in
            brackets.map { String(repeating: $0.0, count: depth) + "y" + String(repeating: $0.1, count: depth) }
        }
        let long = [254, 255, 256].map { String(repeating: "y", count: $0) }
        let examples =
            deep + long + ["", "a", "()", "(y", "y)", "a{sv}", "a{vs}", "a{s}", "a{svs}", "{sv}", "a{sv", "e", "r"]
        compare(
            Signature.self,
            alphabet: "ybnqiuxtdsogvaaaaa(){}sv",
            examples: examples,
            // libdbus counts only directly nested arrays.
            isStricter: { text in text.utf8.count { $0 == UInt8(ascii: "a") } > 32 }
        ) {
            dbus_signature_validate($0, nil) != 0
        }
        for text in examples {
            guard let signature = Signature(text) else { continue }
            #expect(signature.isSingle == (dbus_signature_validate_single(text, nil) != 0), "\(text)")
        }
    }

    @Test func uniqueNamesAreRecognised() {
        #expect((":1.5" as BusName).isUnique)
        #expect(!("a.b" as BusName).isUnique)
    }

    @Test func objectPathFollowsFromTheBusName() {
        #expect(ObjectPath(for: "com.example.to-do") == "/com/example/to_do")
    }
}

/// The order of the connections of a bus.
@Suite struct ConnectionNumberTests {
    @Test func laterConnectionIsGreater() throws {
        let numbers = [":1.9", ":1.10", ":2.0"].compactMap { BusName(rawValue: $0) }.compactMap(ConnectionNumber.init)
        #expect(numbers.count == 3)
        #expect(numbers == numbers.sorted())
    }

    @Test(arguments: ["org.example.Name", ":1.2.3", ":1", ":1.x", ":1."])
    func otherNamesHaveNoNumber(name: String) {
        #expect(BusName(rawValue: name).flatMap(ConnectionNumber.init) == nil)
    }
}
