internal import UserFiles
internal import WebLinks

/// A site's file `/.well-known/openurl.json`, as far as it concerns certain apps.
///
/// If anything in it is unclear, it gives an app nothing: an unknown key may be a restriction, and of two entries for an app,
/// either may be a mistake.
struct SiteFile {
    /// An app's entry.
    struct Entry: Equatable {
        var exclusions: [PathPattern] = []
        var paths: [PathPattern] = []
        /// The app identifier in `apple-app-site-association` whose paths count too.
        var apple: String?
        /// The package name in `assetlinks.json` whose paths count too.
        var android: String?
        var isForAdministratorsOnly = false
    }

    /// Thrown for a file or an entry that gives nothing. The reason is worded to follow its name.
    struct Refusal: Error, Equatable {
        let reason: String
    }

    /// The entries of the apps, each valid or with the reason why it is not.
    let entries: [String: Result<Entry, Refusal>]

    static let path = "/.well-known/openurl.json"

    private static let keys: Set<String> = ["id", "paths", "exclude", "apple", "android", "systemOnly", "comment"]

    /// Reads the entries of some apps. The others need not be valid.
    init(_ bytes: [UInt8], about apps: Set<String>) throws(Refusal) {
        let root: JSONValue
        do throws(JSONValue.ParseError) {
            root = try JSONValue(bytes: bytes)
        } catch {
            throw Refusal(reason: error.reason)
        }
        guard let list = root["apps"]?.array else { throw Refusal(reason: "has no array 'apps'") }
        var entries: [String: Result<Entry, Refusal>] = [:]
        for element in list {
            guard case .object(let members) = element, let id = members["id"]?.string else {
                throw Refusal(reason: "has an element of 'apps' that is not an object with an 'id'")
            }
            guard apps.contains(id) else { continue }
            entries[id] =
                entries[id] == nil
                ? Result { () throws(Refusal) in try Self.entry(members) }
                : .failure(Refusal(reason: "it has two entries for the app"))
        }
        self.entries = entries
    }

    private static func entry(_ members: [String: JSONValue]) throws(Refusal) -> Entry {
        if let unknown = members.keys.filter({ !keys.contains($0) }).min() {
            throw Refusal(reason: "its entry for the app has the unknown key '\(printable(unknown))'")
        }
        var entry = Entry()
        entry.paths = try patterns("paths", members)
        entry.exclusions = try patterns("exclude", members)
        entry.apple = try text("apple", members)
        entry.android = try text("android", members)
        if let value = members["systemOnly"] {
            guard let flag = value.boolean else { throw Refusal(reason: "'systemOnly' is not true or false") }
            entry.isForAdministratorsOnly = flag
        }
        if entry.paths.isEmpty, entry.apple == nil, entry.android == nil {
            throw Refusal(reason: "its entry for the app has no 'paths'")
        }
        return entry
    }

    private static func patterns(_ key: String, _ members: [String: JSONValue]) throws(Refusal) -> [PathPattern] {
        guard let value = members[key] else { return [] }
        guard let texts = value.strings else { throw Refusal(reason: "'\(key)' is not an array of strings") }
        guard texts.count <= PathRules.maximumCount else { throw Refusal(reason: "'\(key)' has too many patterns") }
        var patterns: [PathPattern] = []
        for text in texts {
            do throws(PathPattern.ParseError) {
                patterns.append(try PathPattern(text))
            } catch {
                throw Refusal(reason: "'\(key)' has '\(printable(text))', which \(error)")
            }
        }
        return patterns
    }

    private static func text(_ key: String, _ members: [String: JSONValue]) throws(Refusal) -> String? {
        guard let value = members[key] else { return nil }
        guard let text = value.string, !text.isEmpty else { throw Refusal(reason: "'\(key)' is not a name") }
        return text
    }
}
