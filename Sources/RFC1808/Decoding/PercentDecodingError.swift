extension GenericURL {
    /// Why a component has no decoded text, although it is valid in a URL.
    public struct PercentDecodingError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of problem. The raw values are stable names for scripts.
        ///
        /// A later version may add reasons, so a `switch` needs a `default`.
        public enum Reason: String, Sendable, CaseIterable {
            /// The decoded bytes are not UTF-8.
            case invalidUTF8
            /// The text would contain a control character: `%00`, `%0A`, DEL or one of U+0080 to U+009F.
            case controlCharacter
            /// The host would contain one of `/ \ ? # @ : [ ]`, so it could be read as a different one.
            case separatorInHost
        }

        /// The kind of problem.
        public let reason: Reason
        /// Offset of the wrong escape in the whole URL, in bytes, counted from 0.
        public let offset: Int

        /// The reason's stable name, such as `invalidUTF8`.
        public var name: String { reason.rawValue }

        /// The problem in plain English, without the offset.
        public var message: String {
            switch reason {
            case .invalidUTF8: "the escapes do not decode to UTF-8 text"
            case .controlCharacter: "the decoded text would contain a control character"
            case .separatorInHost: "the decoded host would contain a separator"
            }
        }

        /// The offset and the message.
        public var description: String { "at byte offset \(offset): \(message)" }
    }
}
