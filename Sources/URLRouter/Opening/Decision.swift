internal import OpenURLBus

/// The decision about a URL whose sender and destination are known.
enum Decision {
    /// The URL may go to its destination.
    case go
    /// A person has to be asked first.
    case ask(PolicyDialog)
    case refuse(OpenURLError)
}
