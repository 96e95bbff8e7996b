internal import DBus

/// Why the process that owns a handler's name is considered the handler. No other owner of the name gets a URL.
enum OwnerClaim: Hashable, Sendable {
    /// A router has started the process for the handler.
    case wasStarted
    /// It descends from the process that a router has started, and has stayed in its process session: for example,
    /// because a script has started the program, or because a proxy stands between a sandbox and the bus.
    case descends
    /// It is the manifest's program, started by hand, for example under a debugger, or by `openurl run`.
    case runsProgram
    /// It is in the sandbox of the handler's application.
    case isInSandbox

    /// Whether the process may act for the handler. The other claims are weak, because any of the user's programs can
    /// start the handler's program with other arguments, or change it while it runs.
    var isStrong: Bool {
        switch self {
        case .wasStarted, .descends: true
        case .runsProgram, .isInSandbox: false
        }
    }
}

/// An owner of a handler's name, and its process.
struct OwnerCandidate {
    let owner: BusName
    /// The connection's process; nil if the bus does not report it.
    let pid: UInt32?
    /// The process that uses the connection; nil if a proxy hides it.
    var handler: UInt32?
    /// Nil if the owner is not the handler.
    let claim: OwnerClaim?
}
