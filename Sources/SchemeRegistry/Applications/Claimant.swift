public import Desktop

/// A handler or an application that can receive a URL.
public enum Claimant: Sendable, Hashable, CustomStringConvertible {
    /// One of the registry's handlers, which reports the result for each URL.
    case handler(Handler)
    /// One of the desktop's applications, which reports no result.
    indirect case application(DesktopEntry)

    /// A handler's bundle id, or a desktop file's id, including `.desktop`.
    public var id: String {
        switch self {
        case .handler(let handler): handler.id.rawValue
        case .application(let entry): entry.id.rawValue
        }
    }

    /// The handler; `nil` if this is an application.
    public var handler: Handler? {
        if case .handler(let handler) = self { handler } else { nil }
    }

    /// The way in which the claimant receives its URLs.
    public var kind: Handler.Kind {
        switch self {
        case .handler(let handler): handler.kind
        case .application(let entry): entry.isDBusActivatable ? .freedesktop : .exec
        }
    }

    /// The position of the data directory from which the claimant comes; the lower number wins.
    var precedence: Int {
        switch self {
        case .handler(let handler): handler.precedence
        case .application(let entry): entry.precedence
        }
    }

    var isFixed: Bool { handler?.isFixed ?? false }

    /// The id.
    public var description: String { id }
}
