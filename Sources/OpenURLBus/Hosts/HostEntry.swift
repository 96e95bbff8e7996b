internal import DBus

/// Another host to which the user sends URLs, as ``HostsInterface/list`` returns it.
public struct HostEntry: Sendable, Hashable {
    /// The states of the way to a host.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Nothing waits, so there is no connection.
        case idle
        /// A connection is being made.
        case connecting
        /// The host's router can be reached.
        case connected
        /// The host could not be reached, and is tried again; or URLs wait for a host that is no longer in the list.
        case unreachable
        /// The bridge reaches the host, or no program is the bridge now.
        case bridged
    }

    /// The user's name for the host; `*` for all hosts without an address.
    public var name: String
    /// The address, such as `ssh:alice@laptop.example` or `bridge:`.
    public var address: String
    /// The state of the connection to the host.
    public var state: State
    /// Number of URLs that wait for the host, without dead letters.
    public var waiting: UInt32 = 0
    /// When the host is tried next, in seconds since 1970; nil if nothing is planned.
    public var next: UInt64?
    /// Why the host could not be reached.
    public var problem: String?

    /// Creates an entry.
    public init(name: String, address: String, state: State) {
        self.name = name
        self.address = address
        self.state = state
    }
}

extension HostEntry: Record {
    package static let fields = FieldList(
        initial: HostEntry(name: "", address: "", state: .idle),
        incomplete: "a host without a name",
        Field("name", { $0.name }, { $0.name = $1 }, isRequired: true, "The user's name for the host."),
        Field(
            "address",
            { $0.address },
            { $0.address = $1 },
            "The address: `ssh:` and ssh's word for the host, or `bridge:`."
        ),
        Field("state", { $0.state }, { $0.state = $1 }, "The state of the connection to the host."),
        Field(
            "waiting",
            { $0.waiting },
            { $0.waiting = $1 },
            "The number of URLs that wait for the host, without dead letters."
        ),
        Field("next", { $0.next }, { $0.next = $1 }, "When the host is tried next, in seconds since 1970."),
        Field("problem", { $0.problem }, { $0.problem = $1 }, "Why the host could not be reached.")
    )
}

extension HostEntry.State: Word {
    package static func problem(with word: String) -> String { "'\(word)' is not a state of a host" }
}
