internal import OpenURLBus

/// The topics of the bridge. The broker vouches for the last word of the first two: a host may publish only under its own name.
///
/// All begin with the protocol and its version, and the name of the host for which they are, which may be a group for a request.
enum BridgeTopic: Hashable {
    /// A request, with `open/from` and the name of its sender.
    case open(at: HostName, from: HostName)
    /// The outcome of a request, with `outcome/from` and the name of the host that gives it.
    case outcome(at: HostName, from: HostName)
    /// Whether the host is there, with `presence`. This message is retained.
    case presence(of: HostName)

    private static let root = "openurl/1/"
    static let online = Array("online".utf8)
    static let offline = Array("offline".utf8)

    /// Reads a topic; nil for any other topic.
    init?(_ text: String) {
        guard text.hasPrefix(Self.root) else { return nil }
        let words = text.dropFirst(Self.root.count).split(separator: "/", omittingEmptySubsequences: false).map(
            String.init
        )
        guard let host = words.first.flatMap(Self.name) else { return nil }
        switch words.count {
        case 2 where words[1] == "presence": self = .presence(of: host)
        case 4 where words[2] == "from":
            guard let sender = Self.name(words[3]), !sender.isGroup else { return nil }
            switch words[1] {
            case "open": self = .open(at: host, from: sender)
            case "outcome" where !host.isGroup: self = .outcome(at: host, from: sender)
            default: return nil
            }
        default: return nil
        }
    }

    /// Reads a name, which must be spelt as a ``HostName`` is kept. The broker tells `ALICE` from `alice`, so the client `ALICE`
    /// must not pass for the host `alice`.
    private static func name(_ word: String) -> HostName? {
        HostName(rawValue: word).flatMap { $0.rawValue == word ? $0 : nil }
    }

    static func open(at host: HostName, from sender: HostName) -> String { "\(root)\(host)/open/from/\(sender)" }

    /// The Response Topic of a host's requests. The host that answers adds its own name.
    static func outcomes(at sender: HostName) -> String { "\(root)\(sender)/outcome" }

    static func outcome(at sender: HostName, from host: HostName) -> String { "\(outcomes(at: sender))/from/\(host)" }

    static func presence(of host: HostName) -> String { "\(root)\(host)/presence" }

    /// The topics that a host subscribes to.
    static func subscriptions(of host: HostName, in groups: [HostName]) -> [String] {
        ["\(root)\(host)/open/from/+", "\(outcomes(at: host))/from/+"]
            + groups.map(share)
    }

    /// The subscription with which a member of a group gets a share of the group's requests.
    static func share(of group: HostName) -> String {
        "$share/\(group.rawValue.dropFirst())/\(root)\(group)/open/from/+"
    }
}
