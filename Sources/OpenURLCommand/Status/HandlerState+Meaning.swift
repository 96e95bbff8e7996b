internal import OpenURLBus

extension HandlerState {
    /// The colour of the state.
    var meaning: TerminalStyle.Meaning {
        switch self {
        case .notRunning: .dim
        case .inactive, .active, .background: .good
        case .suspended: .pending
        }
    }
}

extension HandlerStatus {
    /// The colour of the state. If the handler crashed too often, the colour shows that instead.
    var meaning: TerminalStyle.Meaning? { quarantinedUntil == nil ? state.known?.meaning : .bad }
}
