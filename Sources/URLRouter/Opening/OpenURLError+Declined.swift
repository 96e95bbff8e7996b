internal import DBus
internal import OpenURLBus

/// The errors that a sender gets when a program declines a URL, or what it was woken for. They make clear which words are
/// the program's own.
extension OpenURLError {
    /// Creates the error from a program's own words.
    ///
    /// - Parameters:
    ///   - reason: The words; empty if there are none.
    ///   - subject: What the program has declined.
    static func declined(
        by program: QuotingText,
        _ reason: QuotingText,
        subject: QuotingText = "the URL"
    ) -> OpenURLError {
        let words: QuotingText = "\(program) declined \(subject)"
        // A handler without a reason may say the same.
        if reason.description.isEmpty || reason == words { return OpenURLError(.declined, words) }
        return OpenURLError(.declined, "\(words): \(reason)")
    }

    /// Creates the error from the one with which a program answered. Programs in other languages answer with an error
    /// by raising an exception.
    ///
    /// - Parameters:
    ///   - limit: The maximum size of the program's words, in bytes.
    ///   - subject: What the program has declined.
    static func declined(
        by program: QuotingText,
        _ error: RemoteError,
        cutTo limit: Int,
        subject: QuotingText = "the URL"
    ) -> OpenURLError {
        if let exception = PythonException(error) {
            let summary = QuotingText(quoting: exception.summary).cut(toBytes: limit)
            return OpenURLError(.declined, "\(program) raised \(summary)")
        }
        let isNamed = error.name != Code.declined.errorName
        let words = error.words
        let message = isNamed && words.isEmpty ? error.name.rawValue : words
        return declined(by: program, QuotingText(quoting: message).cut(toBytes: limit), subject: subject)
    }
}

extension RemoteError {
    /// The message without the white space at its end. For example, a traceback ends with a line break, which would be
    /// visible in the log.
    var words: String {
        guard let end = message.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(message[...end])
    }
}
