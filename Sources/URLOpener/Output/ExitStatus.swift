internal import OpenURLBus

/// Exit statuses of the command, apart from 0 and those in `OpenURLError.Code`.
package enum ExitStatus {
    /// A command other than `open` failed, such as `queue drop` for a URL that is not in the queue.
    package static let failure: Int32 = 1
    /// The command line is wrong (`EX_USAGE`).
    package static let usage: Int32 = 64
    /// A manifest is invalid (`EX_DATAERR`).
    package static let dataError: Int32 = 65
    /// There is no such file, or it cannot be read (`EX_NOINPUT`).
    package static let noInput: Int32 = 66
    /// The router cannot be reached or gave no usable answer, or one of openurl's programs is missing (`EX_UNAVAILABLE`).
    ///
    /// There is no session bus or no router on it, another program has the router's name, the connection was lost, or the
    /// router exited, did not answer, does not know the request, or gave an answer that cannot be understood. If the request
    /// was sent, its outcome may be unknown.
    package static let unavailable: Int32 = 69
    /// Standard input or output failed (`EX_IOERR`).
    package static let inputOutput: Int32 = 74
}

extension OpenURLError.Code {
    /// The exit status for this cause.
    package var exitStatus: Int32 {
        switch self {
        case .declined: 1
        case .launchVetoed: 2
        case .noHandler: 3
        case .launchFailed: 4
        case .handlerCrashed: 5
        case .timedOut: 6
        case .notAllowed: 7
        case .limitsExceeded: 8
        case .loopDetected: 9
        case .notQueued: 10
        case .cancelled: 11
        case .alreadyClaimed: 12
        case .invalidReply: 13
        case .malformedURL: ExitStatus.dataError
        }
    }
}
