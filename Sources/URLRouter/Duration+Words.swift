internal import OpenURLBus

extension Duration {
    /// The duration in words, such as `1 second`, `0.3 seconds` or `20 seconds`.
    ///
    /// It is rounded to milliseconds or, from ten seconds on, to tenths of a second.
    var inWords: QuotingText {
        let unit: Int64 = self < .seconds(10) ? 1 : 100
        let milliseconds = Int64((self / .milliseconds(unit)).rounded()) * unit
        var text = "\(milliseconds / 1000)"
        var rest = "\(1000 + milliseconds % 1000)".dropFirst()
        while rest.last == "0" { rest.removeLast() }
        if !rest.isEmpty { text += ".\(rest)" }
        return QuotingText(stringLiteral: text == "1" ? "1 second" : "\(text) seconds")
    }
}
