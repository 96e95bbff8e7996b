import DBus
import Glibc
import TestSupport

extension SeededGenerator {
    mutating func pick<C: Collection>(_ choices: C) -> C.Element {
        choices[choices.index(choices.startIndex, offsetBy: Int.random(in: 0..<choices.count, using: &self))]
    }

    /// Returns a string of mostly the given bytes. A replacement character stands for each invalid UTF-8 sequence.
    mutating func text(of alphabet: String, length: ClosedRange<Int>) -> String {
        let alphabet = ContiguousArray(alphabet.utf8)
        let bytes = (0..<Int.random(in: length, using: &self)).map { _ -> UInt8 in
            Int.random(in: 0..<40, using: &self) == 0 ? UInt8.random(in: 1...255, using: &self) : pick(alphabet)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a value of a random type, without descriptors.
    mutating func value(depth: Int = 0) -> Value {
        value(of: signature(depth: depth), depth: depth)
    }

    mutating func signature(depth: Int) -> Signature {
        let basic = ["y", "b", "n", "q", "i", "u", "x", "t", "d", "s", "o", "g"]
        let text: String
        switch Int.random(in: 0..<(depth < 5 ? 18 : 12), using: &self) {
        case 12: text = "v"
        case 13: text = "a" + signature(depth: depth + 1).rawValue
        case 14: text = "a{\(pick(basic))\(signature(depth: depth + 1))}"
        case 15...17:
            let fields = (0...Int.random(in: 0..<3, using: &self)).map { _ in signature(depth: depth + 2).rawValue }
            text = "(" + fields.joined() + ")"
        case let index: text = basic[index]
        }
        // The signature is too long, so the generator starts again with less remaining depth.
        return Signature(text) ?? signature(depth: depth + 1)
    }

    mutating func value(of signature: Signature, depth: Int) -> Value {
        let text = signature.rawValue
        switch text.first {
        case "y": return .byte(.random(in: .min ... .max, using: &self))
        case "b": return .boolean(.random(using: &self))
        case "n": return .int16(.random(in: .min ... .max, using: &self))
        case "q": return .uint16(.random(in: .min ... .max, using: &self))
        case "i": return .int32(.random(in: .min ... .max, using: &self))
        case "u": return .uint32(.random(in: .min ... .max, using: &self))
        case "x": return .int64(.random(in: .min ... .max, using: &self))
        case "t": return .uint64(.random(in: .min ... .max, using: &self))
        case "d": return .double(.random(in: -1e300...1e300, using: &self))
        case "s": return .string(self.text(of: "abc déß€𝄞", length: 0...20))
        case "o": return .objectPath(pick(["/", "/a", "/a/b_1"]))
        case "g": return .signature(self.signature(depth: 4))
        case "v": return .variant(value(depth: depth + 1))
        case "(":
            return .structure(Self.types(in: text.dropFirst().dropLast()).map { value(of: $0, depth: depth + 1) })
        default:
            let element = text.dropFirst()
            let count = Int.random(in: 0..<4, using: &self)
            guard element.first == "{" else {
                let element = Signature(stringLiteral: String(element))
                return .array((0..<count).map { _ in value(of: element, depth: depth + 1) }, of: element)
            }
            let types = Self.types(in: element.dropFirst().dropLast())
            var entries: [Value: Value] = [:]
            for _ in 0..<count { entries[value(of: types[0], depth: 9)] = value(of: types[1], depth: depth + 1) }
            return .dictionary(entries, key: types[0], value: types[1])
        }
    }

    /// Splits a signature into complete types without the code under test.
    private static func types(in text: Substring) -> [Signature] {
        var types: [Signature] = []
        var current = ""
        var depth = 0
        for character in text {
            current.append(character)
            if "({".contains(character) { depth += 1 }
            if ")}".contains(character) { depth -= 1 }
            if depth == 0, character != "a" {
                types.append(Signature(stringLiteral: current))
                current = ""
            }
        }
        return types
    }
}
