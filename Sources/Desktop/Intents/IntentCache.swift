public import UserFiles

/// The contents of `intent.cache` in a directory of entries, in which other programs look up intents instead of reading
/// the entries.
///
/// `update-desktop-database` writes the file beside `mimeinfo.cache`. The group `[Intent Cache]` lists the applications
/// of each intent, and a group with the intent's name those of each scope.
public struct IntentCache: Sendable, Hashable {
    /// The applications that implement each intent, in the file's order.
    public private(set) var applications: [Intent: [DesktopFileID]] = [:]
    /// The applications that support each scope, in the file's order.
    public private(set) var scopes: [Intent: [IntentScope: [DesktopFileID]]] = [:]

    /// The file's name in a directory of entries.
    public static let fileName = "intent.cache"

    static let group = "Intent Cache"

    /// Maximum size of a cache, in bytes.
    public static let limit = MimeInfoCache.limit

    /// Creates the cache of the applications that some files declare, whether or not their programs are installed.
    public init(of files: some Sequence<DesktopFile>) {
        for file in files {
            guard case .application(let entry) = file.content else { continue }
            for declared in entry.intents {
                applications[declared.intent, default: []].append(entry.id)
                for scope in declared.scopes {
                    scopes[declared.intent, default: [:]][scope, default: []].append(entry.id)
                }
            }
        }
        applications = applications.mapValues { $0.sorted() }
        scopes = scopes.mapValues { $0.mapValues { $0.sorted() } }
    }

    /// Reads the cache of a directory of entries; `nil` if there is none.
    public init?(readingIn directory: String) throws(FileWriteError) {
        let path = "\(directory)/\(Self.fileName)"
        guard let bytes = try contents(ofChangedFile: path, limit: Self.limit) else { return nil }
        self.init(bytes)
    }

    /// Reads a cache. Lines that are not in the form of a cache are left out.
    init(_ bytes: [UInt8]) {
        let file = KeyFile(bytes) { $0 == Self.group || Intent(rawValue: $0) != nil }
        for (key, value, _) in file.entries(of: Self.group) {
            guard let intent = String(validating: key, as: UTF8.self).flatMap(Intent.init(rawValue:)) else { continue }
            applications[intent] = Self.ids(value)
        }
        for name in file.groupNames {
            guard let intent = Intent(rawValue: name) else { continue }
            for (key, value, _) in file.entries(of: name) {
                guard let scope = String(validating: key, as: UTF8.self).flatMap(IntentScope.init(rawValue:)) else {
                    continue
                }
                scopes[intent, default: [:]][scope] = Self.ids(value)
            }
        }
    }

    private static func ids(_ value: KeyFileValue) -> [DesktopFileID] {
        do {
            return try value.strings().compactMap(DesktopFileID.init(rawValue:))
        } catch {
            return []
        }
    }

    /// The cache in the form that `update-desktop-database` gives it: intents and applications in byte order, and a
    /// group for each intent with scopes.
    ///
    /// The scopes are in byte order too, each on a line of its own.
    public var bytes: [UInt8] {
        var lines = ["[\(Self.group)]"]
        for (intent, ids) in applications.sorted(by: { $0.key < $1.key }) { lines.append(Self.line(intent, ids)) }
        for (intent, scopes) in scopes.sorted(by: { $0.key < $1.key }) {
            lines += ["", "[\(intent)]"]
            for (scope, ids) in scopes.sorted(by: { $0.key < $1.key }) { lines.append(Self.line(scope, ids)) }
        }
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    private static func line(_ key: some CustomStringConvertible, _ ids: [DesktopFileID]) -> String {
        "\(key)=\(KeyFileText.strings(ids.map(\.rawValue)))"
    }

    /// Creates the cache of a directory again from the entries in it, in one step. A cache that already has the right
    /// contents is not touched.
    public static func rebuild(in directory: String) throws(FileWriteError) {
        var listing = DesktopFileListing(precedence: 0)
        listing.list(directory)
        let files = listing.locations.values.map { DesktopFile(reading: $0, languages: []) }
        try replaceFile("\(directory)/\(fileName)", with: Self(of: files).bytes, isDurable: false)
    }
}
