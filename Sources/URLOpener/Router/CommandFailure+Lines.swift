extension CommandFailure {
    /// The message as lines for a terminal: at least one, and none with control characters.
    ///
    /// A handler's reason may have several lines.
    package var lines: [String] {
        var lines = message.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }[...]
        while lines.count > 1, lines.last?.isEmpty == true { lines.removeLast() }
        while lines.count > 1, lines.first?.isEmpty == true { lines.removeFirst() }
        return lines.map { String($0).printable }
    }
}
