extension GenericURL {
    /// Why a component has no decoded text, although it is a valid part of a URL.
    public struct PercentDecodingError: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong; the raw values are stable names for scripts.
        ///
        /// A later version may add reasons: a `switch` needs a `default`.
        public enum Reason: String, Sendable, CaseIterable {
            /// The decoded bytes are not UTF-8.
            case invalidUTF8
            /// The text would hold a control character: `%00`, `%0A`, DEL or one of U+0080 to U+009F.
            case controlCharacter
            /// The host would hold one of `/ \ ? # @ : [ ]` and could be taken for another one.
            case separatorInHost
        }

        /// What is wrong.
        public let reason: Reason
        /// The offset in the whole URL of the escape that is wrong, in bytes counted from 0.
        public let offset: Int

        /// The stable name of the reason, such as `invalidUTF8`.
        public var name: String { reason.rawValue }

        /// What is wrong in plain English, without the offset.
        public var message: String {
            switch reason {
            case .invalidUTF8: "the escapes do not decode to UTF-8 text"
            case .controlCharacter: "the decoded text would hold a control character"
            case .separatorInHost: "the decoded host would hold a separator"
            }
        }

        /// The offset and the message.
        public var description: String { "at byte offset \(offset): \(message)" }
    }
}
