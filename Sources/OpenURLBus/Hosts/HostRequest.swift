internal import DBus

/// A URL on its way from one host's queue to another's.
public struct HostRequest: Sendable, Hashable {
    /// The name that tells the request from all others of its host, however often it arrives: at most ``idBytes`` printable
    /// ASCII characters.
    public var id: String
    /// The URL as it arrived at the first router.
    public var url: String
    /// The options. ``OpenOptions/lifetime`` is the time that is left.
    public var options: OpenOptions
    /// The number of handlers and hosts that have passed the URL on so far.
    public var hops: UInt32 = 0

    /// Creates a request.
    public init(id: String, _ url: String, _ options: OpenOptions) {
        self.id = id
        self.url = url
        self.options = options
    }

    /// Maximum size of ``id`` in bytes.
    public static let idBytes = 128

    /// Whether ``id`` has the form that it must have.
    public var isNamed: Bool {
        (1...Self.idBytes).contains(id.utf8.count) && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

extension HostRequest: Record {
    package static let fields = FieldList(
        initial: HostRequest(id: "", "", OpenOptions()),
        incomplete: "a request without a name or a URL",
        Field(
            "id",
            { $0.id },
            { $0.id = $1 },
            isRequired: true,
            "The name that tells the request from all others of its host: at most \(HostRequest.idBytes) printable ASCII characters."
        ),
        Field("url", { $0.url }, { $0.url = $1 }, isRequired: true, "The URL."),
        Field(
            "options",
            { $0.options },
            { $0.options = $1 },
            "The options, as for `OpenURL`; `lifetime` is the time that is left."
        ),
        Field(
            "hops",
            { $0.hops },
            { $0.hops = $1 },
            omitting: 0,
            "The number of handlers and hosts that have passed the URL on so far."
        )
    )
}
