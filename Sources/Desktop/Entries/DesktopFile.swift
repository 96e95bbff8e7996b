public import UserFiles

/// What one desktop entry's file says: the part of loading that depends on nothing but the file's contents.
///
/// A cache keeps these, by file, size and modification, and puts them together with
/// ``DesktopEntries/init(of:in:diagnostics:)``.
public struct DesktopFile: Sendable, Hashable {
    /// What the file declares.
    public enum Content: Sendable, Hashable {
        /// An application. Whether its programs are installed is not known yet.
        case application(DesktopEntry)
        /// `Hidden` is true: the same as if no directory had an entry with this ID.
        case hidden
        /// Something that opens nothing, such as `Type=Link`.
        case other
        /// Nothing that can be read.
        case invalid
    }

    /// Where a file is, and as what.
    public struct Location: Sendable, Hashable {
        /// What the desktop knows the entry by.
        public let id: DesktopFileID
        /// The file's path.
        public let file: String
        /// The place of its directory in ``DesktopDirectories/applicationDirectories``.
        public let precedence: Int

        /// A file that is known to be there.
        public init(id: DesktopFileID, file: String, precedence: Int) {
            self.id = id
            self.file = file
            self.precedence = precedence
        }
    }

    /// Where the file is.
    public let location: Location
    /// What it declares.
    public let content: Content
    /// What is wrong with it.
    public let diagnostics: [Diagnostic]

    /// The largest entry that is read, in bytes.
    public static let limit = 1 << 20

    /// Takes a file unread for an entry that was written for a handler, and that claims nothing.
    public init(assuming location: Location, of handler: String) {
        self.location = location
        content = .application(
            DesktopEntry(
                id: location.id,
                file: location.file,
                precedence: location.precedence,
                name: handler,
                command: nil,
                tryProgram: nil,
                busName: nil,
                runsInTerminal: false,
                workingDirectory: nil,
                icon: nil,
                isHiddenFromMenus: true,
                mimeTypes: [],
                handler: handler
            )
        )
        diagnostics = []
    }

    /// Reads a file, following links.
    ///
    /// - Parameter languages: the suffixes of localised keys, best first.
    public init(reading location: Location, languages: [String]) {
        self.location = location
        do {
            let bytes = try contents(ofFile: location.file, limit: Self.limit, followingLinks: true)
            var reader = DesktopFileReader(bytes, location, languages)
            content = reader.content()
            diagnostics = reader.problems.diagnostics
        } catch {
            content = .invalid
            diagnostics = [Diagnostic(severity: .error, file: location.file, reason: error.reason)]
        }
    }
}

/// Reads the keys of one entry.
private struct DesktopFileReader {
    private let location: DesktopFile.Location
    private let languages: [String]
    private let file: KeyFile
    private(set) var problems: Problems

    /// A key's value is unusable, which has been reported.
    private struct Unusable: Error {}

    private static let groupName = "Desktop Entry"

    init(_ bytes: [UInt8], _ location: DesktopFile.Location, _ languages: [String]) {
        self.location = location
        self.languages = languages
        file = KeyFile(bytes, groups: [Self.groupName])
        problems = Problems(file: location.file)
    }

    mutating func content() -> DesktopFile.Content {
        do {
            // Half a file is no file: GLib refuses all of it for one such line, too.
            if let problem = file.malformed.first {
                return invalid(problem.key, problem.reason)
            }
            guard file.hasGroup(Self.groupName) else { return invalid("[\(Self.groupName)]", "is missing") }
            // "There should be nothing preceding this group in the desktop entry file but possibly one or more comments."
            guard file.firstGroup == Self.groupName else {
                return invalid("[\(Self.groupName)]", "is not the first group")
            }
            for problem in file.repeated { problems.add(.warning, problem.key, problem.reason) }

            // "This is equivalent to the .desktop file not existing at all", whatever else it holds.
            if try boolean("Hidden") { return .hidden }
            guard let type = try string("Type") else { return invalid("Type", "is missing") }
            // "Implementations should ignore desktop entries with an unknown or missing type."
            guard type == "Application" else { return .other }
            return .application(try application())
        } catch {
            return .invalid
        }
    }

    private mutating func application() throws(Unusable) -> DesktopEntry {
        let busName = try busName()
        let command = try command(isNeeded: busName == nil)
        // Only what it is called: GLib does without.
        let name = try localized("Name") ?? String(location.id.rawValue.dropLast(DesktopFileID.suffix.utf8.count))
        var directory = try string("Path")
        if let path = directory, !path.hasPrefix("/") {
            if !path.isEmpty { problems.add(.warning, "Path", "is a relative path, so it is ignored") }
            directory = nil
        }
        return DesktopEntry(
            id: location.id,
            file: location.file,
            precedence: location.precedence,
            name: name,
            command: command,
            tryProgram: try string("TryExec").flatMap { $0.isEmpty ? nil : $0 },
            busName: busName,
            runsInTerminal: try boolean("Terminal"),
            workingDirectory: directory,
            icon: try localized("Icon").flatMap { $0.isEmpty ? nil : $0 },
            isHiddenFromMenus: try boolean("NoDisplay"),
            mimeTypes: try mimeTypes(),
            handler: try string(DesktopEntry.handlerKey)
        )
    }

    /// "The name of the desktop file must be the well-known bus name": of the file, also in a subdirectory.
    private mutating func busName() throws(Unusable) -> String? {
        guard try boolean("DBusActivatable") else { return nil }
        let fileName = location.file.split(separator: "/").last ?? ""
        let name = fileName.dropLast(DesktopFileID.suffix.utf8.count)
        guard isBusName(name) else {
            problems.add(.warning, "DBusActivatable", "is ignored: the file's name without .desktop is no bus name")
            return nil
        }
        return String(name)
    }

    private mutating func command(isNeeded: Bool) throws(Unusable) -> ExecCommand? {
        guard let text = try string("Exec"), !text.isEmpty else {
            guard isNeeded else { return nil }
            throw unusable("Exec", "is missing, and DBusActivatable is not true")
        }
        do {
            return try ExecCommand(parsing: text)
        } catch {
            guard isNeeded else {
                problems.add(.warning, "Exec", "\(error), so only D-Bus activation is left")
                return nil
            }
            throw unusable("Exec", "\(error)")
        }
    }

    private mutating func mimeTypes() throws(Unusable) -> [String] {
        var seen: Set<String> = []
        return try value("MimeType") { value throws(KeyFileValue.Invalid) in try value.strings() }?
            .compactMap { text in
                guard let type = validMimeType(text) else {
                    problems.add(.warning, "MimeType", "holds '\(printable(text))', which is no MIME type")
                    return nil
                }
                return seen.insert(type).inserted ? type : nil
            } ?? []
    }

    private mutating func string(_ key: String) throws(Unusable) -> String? {
        try value(key) { value throws(KeyFileValue.Invalid) in try value.string() }
    }

    private mutating func boolean(_ key: String) throws(Unusable) -> Bool {
        try value(key) { value throws(KeyFileValue.Invalid) in try value.boolean() } ?? false
    }

    private mutating func localized(_ key: String) throws(Unusable) -> String? {
        for language in languages {
            if let text = try string("\(key)[\(language)]") { return text }
        }
        return try string(key)
    }

    private mutating func value<Value>(
        _ key: String,
        _ read: (KeyFileValue) throws(KeyFileValue.Invalid) -> Value
    ) throws(Unusable) -> Value? {
        let values = file.values(of: key, in: Self.groupName)
        guard let value = values.last else { return nil }
        if values.count > 1 { problems.add(.warning, key, "is there twice") }
        do {
            return try read(value)
        } catch {
            throw unusable(key, error.reason)
        }
    }

    private mutating func unusable(_ key: String?, _ reason: String) -> Unusable {
        problems.add(.error, key, reason)
        return Unusable()
    }

    private mutating func invalid(_ key: String?, _ reason: String) -> DesktopFile.Content {
        problems.add(.error, key, reason)
        return .invalid
    }
}
