public import DBus

/// A notification that a handler schedules for itself (`UILocalNotification` in the guide).
public struct LocalNotification: Sendable, Hashable {
    /// The handler's own name for the notification, which replaces an earlier one with the same name: at most 64 ASCII
    /// letters, digits, dots, hyphens and underscores. If it is empty, the router makes one up.
    public var identifier = ""
    /// The text, at most ``OpenOptions/maximumNotificationBytes``. It is never taken for markup.
    public var text: String
    /// The title, at most ``titleBytes``; nil for the handler's name.
    public var title: String?
    /// The URL that a click opens; nil if the click brings the handler to the foreground. At most ``urlBytes``.
    public var url: String?
    /// When to show it; nil for at once. See ``OpenOptions/deliveryTime``.
    public var deliveryTime: DeliveryTime?
    /// How often to show it from ``deliveryTime`` on, which must be on the clock of the session; nil for once.
    public var repeatInterval: RepeatInterval?
    /// Facts that the handler needs later, at most ``userInfoBytes`` and without descriptors.
    public var userInfo: [String: Value] = [:]

    /// Whether the handler gets the notification because the user has clicked on it. It is false if the handler gets it
    /// quietly.
    public internal(set) var isClicked = false
    /// The handler that the notification belongs to, in a list.
    public internal(set) var handler: String?
    /// When it is shown next, in seconds since 1970, in a list.
    public internal(set) var next: UInt64?

    /// Maximum size of a title in bytes.
    public static let titleBytes = 256
    /// Maximum size of a URL in bytes.
    public static let urlBytes = 8192
    /// Maximum size of ``userInfo`` as a message, in bytes.
    public static let userInfoBytes = 4096

    /// Creates a notification that is shown at once.
    public init(_ text: String) {
        self.text = text
    }

    /// Creates a notification.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - time: when to show it.
    ///   - interval: how often to show it from then on; nil for once.
    public init(_ text: String, at time: DeliveryTime, every interval: RepeatInterval? = nil) {
        self.text = text
        deliveryTime = time
        repeatInterval = interval
    }

    /// Returns the notification as the handler gets it after a click.
    package func clicked() -> LocalNotification {
        var clicked = self
        clicked.isClicked = true
        return clicked
    }

    /// Returns the notification as a list shows it.
    package func listed(of handler: String, next: UInt64) -> LocalNotification {
        var listed = self
        listed.handler = handler
        listed.next = next
        return listed
    }

    /// Returns what the handler has set, without what only the router sets.
    package func scheduled(as identifier: String) -> LocalNotification {
        var scheduled = self
        scheduled.identifier = identifier
        (scheduled.isClicked, scheduled.handler, scheduled.next) = (false, nil, nil)
        return scheduled
    }
}

extension LocalNotification: Record {
    package static let fields = FieldList(
        initial: LocalNotification(""),
        incomplete: "a notification without a text",
        Field(
            "identifier",
            { $0.identifier },
            { $0.identifier = $1 },
            omitting: "",
            "The handler's own name for the notification, which replaces an earlier one with the same name: at most 64 ASCII letters, digits, dots, hyphens and underscores; without the key, the router makes one up."
        ),
        Field(
            "text",
            { $0.text },
            { $0.text = $1 },
            isRequired: true,
            "The text; at most \(OpenOptions.maximumNotificationBytes) bytes."
        ),
        Field(
            "title",
            { $0.title },
            { $0.title = $1 },
            "The title; without the key, the handler's name; at most \(titleBytes) bytes."
        ),
        Field(
            "url",
            { $0.url },
            { $0.url = $1 },
            "The URL that a click opens; without the key, the click brings the handler to the foreground; at most \(urlBytes) bytes."
        ),
        Field(
            "at",
            { $0.deliveryTime },
            { $0.deliveryTime = $1 },
            "The time, as in the options of `OpenURL`; without the key, the notification is shown at once."
        ),
        Field(
            "every",
            { $0.repeatInterval },
            { $0.repeatInterval = $1 },
            "How often it is shown from the time in `at` on, which must be on the clock of the session."
        ),
        Field(
            "user-info",
            { $0.userInfo },
            { $0.userInfo = $1 },
            omitting: [:],
            "Facts that the handler needs later; at most \(userInfoBytes) bytes, and no descriptors."
        ),
        Field(
            "clicked",
            { $0.isClicked },
            { $0.isClicked = $1 },
            omitting: false,
            "Whether the handler gets the notification because the user has clicked on it; the router sets this."
        ),
        Field(
            "handler",
            { $0.handler },
            { $0.handler = $1 },
            "The identifier of the handler; only in a list."
        ),
        Field(
            "next",
            { $0.next },
            { $0.next = $1 },
            "The time when it is shown next, in seconds since 1970; only in a list."
        )
    )

    package func validate() throws(MessageDecodingError) {
        let allowed: (UInt8) -> Bool = { $0.isPathByte || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
        guard identifier.utf8.count <= 64, identifier.utf8.allSatisfy(allowed) else {
            throw .invalidValue(
                "'identifier' has at most 64 ASCII letters, digits, dots, hyphens and underscores"
            )
        }
        guard (1...OpenOptions.maximumNotificationBytes).contains(text.utf8.count) else {
            throw .invalidValue("'text' must have 1 to \(OpenOptions.maximumNotificationBytes) bytes")
        }
        guard title.map({ (1...Self.titleBytes).contains($0.utf8.count) }) ?? true else {
            throw .invalidValue("'title' must have 1 to \(Self.titleBytes) bytes")
        }
        guard url?.utf8.count ?? 0 <= Self.urlBytes else {
            throw .invalidValue("'url' has more than \(Self.urlBytes) bytes")
        }
        if let repeatInterval, deliveryTime?.isWallClock != true {
            throw .invalidValue("'every' '\(repeatInterval.rawValue)' needs a time without a time zone in 'at'")
        }
        if userInfo.isEmpty { return }
        do throws(MessageEncodingError) {
            // The encoder's limit is for an estimate that is higher than the size.
            let (size, empty) = (try Self.bytes(of: userInfo), try Self.bytes(of: [:]))
            if size - empty <= Self.userInfoBytes { return }
        } catch {
            // It has descriptors, or is far too large.
        }
        throw .invalidValue("'user-info' has descriptors, or more than \(Self.userInfoBytes) bytes")
    }

    private static func bytes(of userInfo: [String: Value]) throws(MessageEncodingError) -> Int {
        try MessageArchive.bytes(of: userInfo, limit: 4 * userInfoBytes).count
    }
}
