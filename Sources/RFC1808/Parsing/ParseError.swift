extension GenericURL {
    /// Why a string is not a URL, and the offset of the wrong byte.
    public struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of problem. The raw values are stable names for scripts.
        ///
        /// A later version may add reasons, so a `switch` needs a `default`.
        public enum Reason: String, Sendable, CaseIterable {
            /// The input is empty.
            case emptyInput
            /// The input, or the result of ``GenericURL/resolving(reference:mode:maximumLength:)``, is longer than the
            /// limit. The offset is the limit.
            case tooLong
            /// A byte must be written as an escape, at least here.
            ///
            /// These bytes are forbidden:
            ///
            /// - every byte outside printable ASCII;
            /// - the space, `"`, `<`, `>`, `\`, `^`, `{`, `}`, `|` and the backtick;
            /// - a bracket that does not enclose an IPv6 host;
            /// - a second `#`;
            /// - in ``GenericURL/replacing(_:with:)``, a separator that the component cannot contain.
            case forbiddenByte
            /// A `%` is not followed by two hexadecimal digits.
            case badEscape
            /// The text before the first `:` is not a scheme, which is a letter followed by letters, digits, `+`, `.`
            /// or `-`.
            case badScheme
            /// The network location has a second `@`.
            case secondAtSign
            /// The host contains a `:`.
            case badHost
            /// The text in the brackets is not an IPv6 address.
            case badIPv6Address
            /// Text other than a port follows the brackets of an IPv6 address.
            case textAfterBracket
            /// The port is not a number up to 65535.
            case badPort
            /// The component cannot have the new text without a change to another one.
            ///
            /// Only ``GenericURL/replacing(_:with:)`` throws this; parsing never does.
            case misplacedComponent
        }

        /// The kind of problem.
        public let reason: Reason
        /// Offset of the wrong byte, counted from 0; the length of the input if something is missing at the end.
        public let offset: Int
        /// The byte at the offset; `nil` at the end of the input.
        public let byte: UInt8?
        /// The character outside ASCII that begins at the offset; `nil` if there is none.
        private let character: Unicode.Scalar?

        init(_ reason: Reason, at offset: Int, in bytes: borrowing Span<UInt8>) {
            self.reason = reason
            self.offset = offset
            self.byte = bytes.indices.contains(offset) ? bytes[offset] : nil
            self.character = Self.character(at: offset, in: bytes)
        }

        private static func character(at offset: Int, in bytes: borrowing Span<UInt8>) -> Unicode.Scalar? {
            guard bytes.indices.contains(offset), bytes[offset] >= 0x80 else { return nil }
            var unit: [UInt8] = []
            for index in offset..<min(offset + 4, bytes.count) { unit.append(bytes[index]) }
            var (decoder, rest) = (UTF8(), unit.makeIterator())
            guard case .scalarValue(let character) = decoder.decode(&rest) else { return nil }
            return character
        }

        /// The reason's stable name, such as `forbiddenByte`.
        public var name: String { reason.rawValue }

        /// The offset and the message.
        public var description: String { "at byte offset \(offset): \(message)" }

        /// The problem in plain English, without the offset. Because the input may contain a password, it shows at most
        /// one character of the input.
        public var message: String {
            switch reason {
            case .emptyInput:
                "the URL is empty"
            case .tooLong:
                "the URL is longer than \(offset) bytes"
            case .forbiddenByte:
                forbiddenByteMessage
            case .badEscape:
                "'%' must be followed by two hexadecimal digits; write a percent sign as %25"
            case .badScheme:
                "the text before the first ':' is not a scheme: a letter, then letters, digits, '+', '.' or '-'; "
                    + "write a relative path that contains a ':' as ./path"
            case .secondAtSign:
                "a second '@' before the path; write it as %40 in a user name or password"
            case .badHost:
                "a host may not contain a ':'; write an IPv6 address in brackets"
            case .badIPv6Address:
                "this is not an IPv6 address in brackets, as in [2001:db8::1] or [fe80::1%25eth0]"
            case .textAfterBracket:
                "only a ':' and a port may follow the ']' of an IPv6 address"
            case .badPort:
                "a port is a decimal number up to 65535"
            case .misplacedComponent:
                "this component cannot have this text without changing another one"
            }
        }

        private var forbiddenByteMessage: String {
            guard let byte else { return "this byte is not allowed in a URL" }
            let escape = byte.percentEscape
            return switch byte {
            case UInt8(ascii: " "):
                "a space is not allowed in a URL; write it as \(escape)"
            case UInt8(ascii: "["), UInt8(ascii: "]"):
                "'\(Unicode.Scalar(byte))' may only enclose an IPv6 host; write it as \(escape)"
            case UInt8(ascii: "#"):
                "a '#' may only start the fragment; write it as \(escape)"
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: "@"):
                "'\(Unicode.Scalar(byte))' separates components and is not allowed in this one; write it as \(escape)"
            case 0x21..<0x7F:
                "'\(Unicode.Scalar(byte))' is not allowed in a URL; write it as \(escape)"
            case 0x80...:
                "only ASCII is allowed in a URL; write other text as escaped UTF-8, \(escapedCharacter ?? "this byte as \(escape)")"
            default:
                "a control character (\(escape)) is not allowed in a URL"
            }
        }

        /// The character outside ASCII and its escapes, in words.
        private var escapedCharacter: String? {
            character.map { character in
                // Combining marks and controls would change the text around them.
                let isVisible = character.properties.isGraphemeBase && !character.properties.isWhitespace
                let name = isVisible ? String(character) : "this character"
                return "\(name) as \(String(character).utf8.map(\.percentEscape).joined())"
            }
        }
    }
}
