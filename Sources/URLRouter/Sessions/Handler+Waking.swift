internal import SchemeRegistry

extension Handler {
    /// Whether the handler can be started or woken for something other than a URL.
    var canBeWoken: Bool { kind == .native && program != nil }
}
