internal import OpenURLBus
internal import Policy
internal import UserFiles

/// The way to a host, as the user's file gives it.
enum HostAddress: Sendable, Hashable, CustomStringConvertible {
    /// ssh's word for the host: `HOST` or `USER@HOST`.
    case ssh(String)
    case bridge

    /// Reads an address; nil if the text is none.
    init?(_ text: String) {
        if text == "bridge:" {
            self = .bridge
            return
        }
        guard text.hasPrefix("ssh:") else { return nil }
        let name = String(text.dropFirst("ssh:".count))
        // ssh would take a hyphen for the beginning of an option.
        guard (1...Self.longest).contains(name.utf8.count), !name.hasPrefix("-"),
            name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
        else { return nil }
        self = .ssh(name)
    }

    private static let longest = 255

    var description: String {
        switch self {
        case .ssh(let name): "ssh:\(name)"
        case .bridge: "bridge:"
        }
    }
}

/// The other hosts that the user has added, as a text with one line for each: a name and an address. `#` begins a comment.
///
/// The name `*` with the address `bridge:` stands for all hosts and groups without a line.
struct HostList: Sendable, Hashable {
    /// Maximum number of hosts.
    static let limit = 1000
    /// Maximum size of the text in bytes.
    static let largestText = 256 << 10
    /// The name that stands for all hosts without a line.
    static let everyName = "*"

    /// The addresses by the names of the hosts.
    private(set) var addresses: [String: HostAddress] = [:]
    /// Lines that cannot be used, in words: at most ``mostProblems``, and then the number of the others.
    private(set) var problems: [String] = []
    private static let mostProblems = 20

    /// Creates an empty list.
    init() {}

    /// Reads a list. A line that cannot be used does not affect the others.
    init(text: String) {
        var unusable = 0
        for (number, line) in RuleLines(text).lines.enumerated() {
            let words = Self.words(line)
            if words.isEmpty { continue }
            guard words.count == 2, let address = HostAddress(String(words[1])),
                let name = Self.name(String(words[0]), for: address), addresses.count < Self.limit
            else {
                unusable += 1
                if unusable <= Self.mostProblems {
                    problems.append("line \(number + 1) is not a host's name and address: \(printable(line))")
                }
                continue
            }
            addresses[name] = address
        }
        if unusable > Self.mostProblems { problems.append("\(unusable - Self.mostProblems) more lines cannot be used") }
    }

    /// Returns a name as the list has it; nil if a host with this address cannot have the name.
    static func name(_ text: String, for address: HostAddress) -> String? {
        if text == everyName { return address == .bridge ? text : nil }
        guard let name = HostName(rawValue: text), !name.isGroup || address == .bridge else { return nil }
        return name.rawValue
    }

    /// Returns the way to a host or a group; nil if there is none.
    subscript(name: HostName) -> HostAddress? { addresses[name.rawValue] ?? addresses[Self.everyName] }

    /// Returns a text with another address for a host, or without the host. Comments and other lines stay as they are.
    static func changing(_ text: String, _ name: String, to address: HostAddress?) -> String {
        var list = RuleLines(text)
        list.lines.removeAll { words($0).first?.lowercased() == name }
        if let address { list.lines.append("\(name) \(address)") }
        return list.text
    }

    private static func words(_ line: String) -> [Substring] {
        line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
    }
}
