package import MQTT
package import OpenURLBus
internal import UserFiles

/// The bridge's configuration: lines with a word and its values. `#` begins a comment.
///
/// | line | meaning |
/// |---|---|
/// | `name NAME` | this host's name, which the broker must know as the user's name |
/// | `broker HOST PORT` | the broker |
/// | `ca FILE` | the certificates of the authorities that may vouch for the broker |
/// | `certificate FILE`, `key FILE` | this host's certificate and its key |
/// | `group NAME` | a group that this host belongs to, without the `@`; one line for each |
/// | `keepalive SECONDS` | how long the connection may be silent, 60 if there is no such line |
package struct BridgeConfiguration: Sendable {
    package let name: HostName
    package var groups: [HostName] = []
    package var options: MQTTOptions

    /// Maximum size of the file in bytes.
    private static let largestFile = 64 << 10
    /// Maximum number of groups.
    private static let maximumGroups = 64

    /// Reads a file. Its key is a secret, so no other user may change the file or the directories above it.
    ///
    /// - Throws: the reason in words.
    package init(file path: String) throws(BridgeProblem) {
        let bytes: [UInt8]
        do throws(FileError) {
            var trust = TrustedPaths()
            try trust.check(path)
            bytes = try contents(ofFile: path, limit: Self.largestFile, followingLinks: true)
        } catch {
            throw BridgeProblem("\(printable(path)) \(error)")
        }
        do throws(BridgeProblem) {
            try self.init(text: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw BridgeProblem("\(printable(path)): \(error)")
        }
    }

    /// Reads a text.
    ///
    /// - Throws: the reason in words.
    package init(text: String) throws(BridgeProblem) {
        var values: [String: [[String]]] = [:]
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }.map(String.init)
            guard let key = words.first else { continue }
            let count = key == "broker" ? 2 : 1
            guard Self.keys.contains(key), words.count == count + 1 else {
                throw BridgeProblem("line \(number + 1) cannot be used: \(printable(String(line)))")
            }
            values[key, default: []].append(Array(words.dropFirst()))
        }
        if let (key, _) = values.first(where: { $0.key != "group" && $0.value.count > 1 }) {
            throw BridgeProblem("'\(key)' is there twice")
        }
        func value(_ key: String) -> String? { values[key]?.first?.first }
        guard let text = value("name"), let name = HostName(rawValue: text), !name.isGroup else {
            throw BridgeProblem("'name' is missing or cannot be used: \(HostName.problem(with: ""))")
        }
        guard let broker = values["broker"]?.first, let port = UInt16(broker[1]), port > 0 else {
            throw BridgeProblem("'broker' needs a host and a port")
        }
        self.name = name
        options = MQTTOptions(client: name.rawValue, host: broker[0], port: port)
        if let authorities = value("ca"), let certificate = value("certificate"), let key = value("key") {
            options.certificates = .init(authorities: authorities, certificate: certificate, key: key)
        } else if !Self.loopback.contains(broker[0]) {
            throw BridgeProblem("a broker on another machine needs 'ca', 'certificate' and 'key'")
        } else {
            // The broker has to trust this machine's programs. It is the way for tests, and for a tunnel.
            options.user = (name.rawValue, "")
        }
        if let text = value("keepalive") {
            guard let seconds = Int(text), (5...3600).contains(seconds) else {
                throw BridgeProblem("'keepalive' must be a number from 5 to 3600")
            }
            options.keepAlive = .seconds(seconds)
        }
        for text in values["group"]?.compactMap(\.first) ?? [] {
            guard let group = HostName(rawValue: "@\(text)"), groups.count < Self.maximumGroups else {
                throw BridgeProblem("'\(printable(text))' cannot be a group")
            }
            groups.append(group)
        }
        options.will = (BridgeTopic.presence(of: name), BridgeTopic.offline)
    }

    private static let keys: Set = ["name", "broker", "ca", "certificate", "key", "group", "keepalive"]
    private static let loopback: Set = ["127.0.0.1", "::1", "localhost"]
}

/// Why the bridge cannot run, in words.
package struct BridgeProblem: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
