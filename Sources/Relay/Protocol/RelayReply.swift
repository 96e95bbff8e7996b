package import OpenURLBus
package import RFC1808
internal import URLOpener
internal import UserFiles

/// One line of an answer to a ``RelayRequest``.
package enum RelayReply: Sendable, Hashable {
    /// The URL was opened.
    case opened
    /// The URL was opened, and leads back to a port of the machine or container that asked. The callback follows.
    case openedWaiting
    case callback(GenericURL)
    case canOpen(Bool)
    /// The request has failed, with an exit status of `openurl`, and a message for people to read.
    case failed(Int32, String)

    /// Maximum length of a message, in bytes.
    private static let messageLimit = 1000

    /// Creates the reply for an error.
    package init(_ error: OpenURLError) {
        self = .failed(error.code.exitStatus, error.message)
    }

    /// The line with its end. It consists of printable ASCII.
    package var line: String {
        switch self {
        case .opened: "opened\n"
        case .openedWaiting: "opened-waiting\n"
        case .callback(let url): "callback \(url)\n"
        case .canOpen(let answer): answer ? "yes\n" : "no\n"
        case .failed(let status, let message): "failed \(status) \(printable(message).prefix(Self.messageLimit))\n"
        }
    }
}
