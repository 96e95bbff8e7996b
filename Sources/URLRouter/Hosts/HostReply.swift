internal import DBus
internal import OpenURLBus

/// The knowledge of a carrier about a request.
enum HostReply: Sendable {
    /// The other router's answer.
    case answer(OpenOutcome)
    /// There is no answer. The text says why, and whether the other router may have the request.
    case none(String)
}
