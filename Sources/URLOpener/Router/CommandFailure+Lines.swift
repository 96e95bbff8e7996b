extension CommandFailure {
    /// The message as lines for a terminal: at least one, and none with control characters.
    ///
    /// A handler's reason may have several lines. If it is a traceback of Python, the exception comes last, but a
    /// person wants to read it first, so it is repeated as the first line.
    package var lines: [String] {
        var lines = message.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }[...]
        while lines.count > 1, lines.last?.isEmpty == true { lines.removeLast() }
        while lines.count > 1, lines.first?.isEmpty == true { lines.removeFirst() }
        if lines.first == "Traceback (most recent call last):",
            let code = lines.lastIndex(where: { $0.hasPrefix("  ") }),
            code + 1 < lines.endIndex
        {
            lines.insert(lines[code + 1], at: lines.startIndex)
        }
        return lines.map { String($0).printable }
    }
}
