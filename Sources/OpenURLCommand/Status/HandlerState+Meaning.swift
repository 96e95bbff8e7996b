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
    /// The colour of the state or, if the handler crashed too often or is overdue with an answer, the colour of a problem.
    var meaning: TerminalStyle.Meaning? { quarantinedUntil == nil && !isOverdue ? state.known?.meaning : .bad }
}
