internal import OpenURLBus

/// A decision about a URL whose sender and destination are known.
enum Decision {
    /// It may go to its destination.
    case go
    /// Ask the user first.
    indirect case ask(PolicyDialog)
    case refuse(OpenURLError)
}
