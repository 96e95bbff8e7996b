public import Desktop

/// What can get a URL.
public enum Claimant: Sendable, Hashable, CustomStringConvertible {
    /// A handler of the registry, which answers for what it did.
    case handler(Handler)
    /// An application of the desktop's, which does not.
    case application(DesktopEntry)

    /// The bundle id, or the id of the desktop file with its `.desktop`.
    public var id: String {
        switch self {
        case .handler(let handler): handler.id.rawValue
        case .application(let entry): entry.id.rawValue
        }
    }

    /// The handler; `nil` for an application.
    public var handler: Handler? {
        if case .handler(let handler) = self { handler } else { nil }
    }

    /// How it gets its URLs.
    public var kind: Handler.Kind {
        switch self {
        case .handler(let handler): handler.kind
        case .application(let entry): entry.isDBusActivatable ? .freedesktop : .exec
        }
    }

    /// The place of its data directory; the lower comes first.
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
