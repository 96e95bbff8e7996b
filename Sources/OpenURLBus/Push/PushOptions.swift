internal import DBus

/// The options of ``PushInterface/register``.
public struct PushOptions: Sendable, Hashable {
    /// The handler's own name for the registration, at most 64 bytes, if it has several, such as one for each account.
    public var instance = ""
    /// The purpose of the pushes, at most 100 bytes. The distributor may show it to the user. By default, it is the
    /// handler's identifier.
    public var description: String?
    /// The server's public key (RFC 8292), at most 100 bytes. Some distributors require one.
    public var vapid: String?
    /// The bus name of the distributor to use. By default, it is the registration's earlier distributor, or the first
    /// one that is running or can be started.
    public var distributor: String?

    /// Creates options without values.
    public init() {}
}

extension PushOptions: Record {
    package static let fields = FieldList(
        initial: PushOptions(),
        Field(
            "instance",
            { $0.instance },
            { $0.instance = $1 },
            omitting: "",
            "The handler's own name for the registration, if it has several."
        ),
        Field(
            "description",
            { $0.description },
            { $0.description = $1 },
            "What the pushes are for, for people to read."
        ),
        Field("vapid", { $0.vapid }, { $0.vapid = $1 }, "The server's public key (RFC 8292)."),
        Field(
            "distributor",
            { $0.distributor },
            { $0.distributor = $1 },
            "The bus name of the distributor, which starts with `org.unifiedpush.Distributor.`."
        )
    )
}
