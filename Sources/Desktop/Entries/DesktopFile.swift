internal import ByteCoding
public import UserFiles

/// The contents of one desktop entry file.
///
/// They depend only on the file's bytes. So a cache can store the values by path, size and modification time, and
/// combine them with `DesktopEntries`.
public struct DesktopFile: Sendable, Hashable {
    /// The declarations in a file.
    public enum Content: Sendable, Hashable {
        /// An application. Its programs may or may not be installed.
        case application(DesktopEntry)
        /// An entry whose `Hidden` key is true. Its effect is the same as if no directory had an entry with this ID.
        case hidden
        /// An entry that cannot open anything, such as `Type=Link`.
        case other
        /// A file without a valid entry.
        case invalid
    }

    /// A file's path, its ID and the index of its directory.
    public struct Location: Sendable, Hashable {
        /// The name by which the desktop knows the entry.
        public let id: DesktopFileID
        /// The file's path.
        public let file: String
        /// The index of the file's directory in ``DesktopDirectories/applicationDirectories``.
        public let precedence: Int

        /// Creates the location of a file that is known to exist.
        public init(id: DesktopFileID, file: String, precedence: Int) {
            self.id = id
            self.file = file
            self.precedence = precedence
        }
    }

    /// The file's location.
    public let location: Location
    /// The declarations in the file.
    public let content: Content
    /// Problems with the file.
    public let diagnostics: [Diagnostic]
    /// Whether the file could not be read because of a temporary error.
    package let isTemporary: Bool

    /// Maximum size of an entry, in bytes.
    public static let limit = 1 << 20

    /// Creates the content of a file that was written for a handler, without reading the file. The entry claims no
    /// types.
    public init(assuming location: Location, of handler: String) {
        self.location = location
        content = .application(
            DesktopEntry(
                id: location.id,
                file: location.file,
                precedence: location.precedence,
                name: handler,
                command: nil,
                privateWindowCommand: nil,
                tryProgram: nil,
                busName: nil,
                runsInTerminal: false,
                workingDirectory: nil,
                icon: nil,
                isHiddenFromMenus: true,
                mimeTypes: [],
                intents: [],
                handler: handler,
                contentsHash: nil
            )
        )
        diagnostics = []
        isTemporary = false
    }

    /// Reads a file, following links.
    ///
    /// - Parameters:
    ///   - location: The file's location.
    ///   - languages: The suffixes of localised keys, the best first.
    public init(reading location: Location, languages: [String]) {
        self.location = location
        do {
            let bytes = try contents(ofFile: location.file, limit: Self.limit, followingLinks: true)
            var reader = DesktopFileReader(bytes, location, languages)
            content = reader.content()
            diagnostics = reader.problems.diagnostics
            isTemporary = false
        } catch {
            isTemporary = error.isTemporary
            content = .invalid
            diagnostics = [Diagnostic(severity: .error, file: location.file, reason: error.reason)]
        }
    }
}

/// A reader for the keys of one entry.
private struct DesktopFileReader {
    private let location: DesktopFile.Location
    private let languages: [String]
    private let bytes: [UInt8]
    private let file: KeyFile
    private(set) var problems: Problems

    /// An error that makes an entry unusable. The problem is already in `problems`.
    private struct Unusable: Error {}

    fileprivate static let groupName = "Desktop Entry"
    /// The group of the action by which browsers offer a private window.
    private static let privateWindowGroup = "Desktop Action new-private-window"

    /// Maximum number of MIME types in an entry. Even media players' largest entries have only about 300.
    private static let maximumTypes = 4096

    init(_ bytes: [UInt8], _ location: DesktopFile.Location, _ languages: [String]) {
        self.bytes = bytes
        self.location = location
        self.languages = languages
        file = KeyFile(bytes, groups: [Self.groupName, Self.privateWindowGroup])
        problems = Problems(file: location.file)
    }

    mutating func content() -> DesktopFile.Content {
        do {
            // As in GLib, one malformed line makes the whole file invalid.
            if let problem = file.malformed.first {
                problems.add(.error, problem)
                return .invalid
            }
            guard file.hasGroup(Self.groupName) else { return invalid("[\(Self.groupName)]", "is missing") }
            // Desktop Entry Specification: "There should be nothing preceding this group in the desktop entry file but
            // possibly one or more comments."
            guard file.firstGroup == Self.groupName else {
                return invalid("[\(Self.groupName)]", "is not the first group")
            }
            for problem in file.repeated { problems.add(.warning, problem) }

            // No other key matters, because the specification calls a hidden entry "equivalent to the .desktop file not
            // existing at all".
            if boolean("Hidden") { return .hidden }
            guard let type = try string("Type", isNeeded: true) else { return invalid("Type", "is missing") }
            // Desktop Entry Specification: "Implementations should ignore desktop entries with an unknown or missing
            // type."
            guard type == "Application" else { return .other }
            return .application(try application())
        } catch {
            return .invalid
        }
    }

    private mutating func application() throws(Unusable) -> DesktopEntry {
        let busName = busName()
        let command = try command(isNeeded: busName == nil)
        // `Name` is only shown to people, so an entry without `Name` is still usable, as in GLib.
        let name = try localized("Name") ?? location.id.name
        var directory = try string("Path")
        if let path = directory, !path.hasPrefix("/") {
            if !path.isEmpty { problems.add(.warning, "Path", "is a relative path, so it is ignored") }
            directory = nil
        }
        let types = unique(mimeTypes().compactMap(validMimeType))
        let intents = ImplementedIntent.declared(in: file, Self.groupName, bytes, &problems)
        let handler = try string(DesktopEntry.handlerKey)
        return DesktopEntry(
            id: location.id,
            file: location.file,
            precedence: location.precedence,
            name: name,
            command: command,
            privateWindowCommand: privateWindowCommand(),
            tryProgram: try string("TryExec").flatMap { $0.isEmpty ? nil : $0 },
            busName: busName,
            runsInTerminal: boolean("Terminal"),
            workingDirectory: directory,
            icon: try localized("Icon").flatMap { $0.isEmpty ? nil : $0 },
            isHiddenFromMenus: boolean("NoDisplay"),
            mimeTypes: types,
            intents: intents,
            handler: handler,
            contentsHash: handler == nil ? nil : bytes.hashValue
        )
    }

    /// Returns the bus name of an entry that is activated over D-Bus.
    ///
    /// "The name of the desktop file must be the well-known bus name." Here the name is the last component of the path,
    /// even if the file is in a subdirectory.
    private mutating func busName() -> String? {
        guard boolean("DBusActivatable") else { return nil }
        let fileName = location.file.split(separator: "/").last ?? ""
        let name = fileName.dropLast(DesktopFileID.suffix.utf8.count)
        guard isBusName(name) else {
            problems.add(.warning, "DBusActivatable", "is ignored: the file's name without .desktop is not a bus name")
            return nil
        }
        return String(name)
    }

    private mutating func command(isNeeded: Bool) throws(Unusable) -> ExecCommand? {
        guard let text = try string("Exec", isNeeded: isNeeded), !text.isEmpty else {
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

    /// Returns the command of the action that opens a private window. An action that cannot be used counts as none.
    private func privateWindowCommand() -> ExecCommand? {
        do {
            let text = try file.values(of: "Exec", in: Self.privateWindowGroup).last?.string()
            return try text.map { text throws(ExecCommand.ParseError) in try ExecCommand(parsing: text) }
        } catch {
            return nil
        }
    }

    /// Returns the types with which `update-desktop-database` lists the entry, whatever else the entry declares.
    mutating func listedTypes() -> [String] {
        guard file.malformed.isEmpty, !boolean("Hidden") else { return [] }
        let types = mimeTypes()
        // The types in another program's entry keep their spelling.
        let isHandlers = !file.values(of: DesktopEntry.handlerKey, in: Self.groupName).isEmpty
        return unique(isHandlers ? types.compactMap(validMimeType) : types)
    }

    /// Returns the valid MIME types as spelt in the entry.
    private mutating func mimeTypes() -> [String] {
        let texts = value("MimeType") { value throws(KeyFileValue.Invalid) in try value.strings() } ?? []
        let types = texts.map(withoutBlanksAtEnd)
        if types.count > Self.maximumTypes {
            problems.add(.warning, "MimeType", "has \(types.count) types; only the first \(Self.maximumTypes) count")
        }
        return types.prefix(Self.maximumTypes).filter { text in
            let isValid = validMimeType(text) != nil
            if !isValid {
                problems.add(.warning, "MimeType", "contains '\(printable(text))', which is not a MIME type")
            }
            return isValid
        }
    }

    /// Returns a type as `update-desktop-database` takes it from a list.
    private func withoutBlanksAtEnd(_ text: String) -> String {
        var type = text
        while type.last == " " || type.last == "\t" { type.removeLast() }
        return type
    }

    /// Returns strings without repetitions, in their original order.
    private func unique(_ texts: [String]) -> [String] {
        var seen: Set<String> = []
        return texts.filter { seen.insert($0).inserted }
    }

    /// Returns a key's value as GLib reads it; `nil` if the key is missing.
    ///
    /// - Parameter isNeeded: Whether the entry is unusable if GLib cannot read the value. Otherwise the value counts as
    ///   missing, as in GLib.
    private mutating func string(_ key: String, isNeeded: Bool = false) throws(Unusable) -> String? {
        guard let value = lastValue(of: key) else { return nil }
        do throws(KeyFileValue.Invalid) {
            return try value.string()
        } catch {
            if error.text == nil, isNeeded { throw unusable(key, error.reason) }
            problems.add(.warning, key, error.text == nil ? "\(error.reason), so it is ignored" : error.reason)
            return error.text
        }
    }

    private mutating func boolean(_ key: String) -> Bool {
        value(key) { value throws(KeyFileValue.Invalid) in try value.boolean() } ?? false
    }

    private mutating func localized(_ key: String) throws(Unusable) -> String? {
        for language in languages {
            if let text = try string("\(key)[\(language)]") { return text }
        }
        return try string(key)
    }

    /// Returns a key's value; `nil` if the key is missing. As in GLib, a value that cannot be read counts as missing.
    private mutating func value<Value>(
        _ key: String,
        _ read: (KeyFileValue) throws(KeyFileValue.Invalid) -> Value
    ) -> Value? {
        guard let value = lastValue(of: key) else { return nil }
        do throws(KeyFileValue.Invalid) {
            return try read(value)
        } catch {
            problems.add(.warning, key, "\(error.reason), so it is ignored")
            return nil
        }
    }

    private mutating func lastValue(of key: String) -> KeyFileValue? {
        let values = file.values(of: key, in: Self.groupName)
        if values.count > 1 { problems.add(.warning, key, "appears twice", .repetition) }
        return values.last
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

extension DesktopFile {
    /// Returns the types with which `update-desktop-database` lists a file in its directory's cache.
    ///
    /// An entry that is no application, or that cannot be used, has types too. A file that cannot be read has none.
    ///
    /// - Throws: only a temporary error.
    static func listedTypes(at location: Location) throws(FileError) -> [String] {
        do throws(FileError) {
            let bytes = try contents(ofFile: location.file, limit: limit, followingLinks: true)
            var reader = DesktopFileReader(bytes, location, [])
            return reader.listedTypes()
        } catch {
            if error.isTemporary { throw error }
            return []
        }
    }

    /// Returns a key's value as written in the file, even if the entry cannot be used; nil if the key is missing.
    package static func writtenValue(of key: String, inFile path: String) -> String? {
        let group = DesktopFileReader.groupName
        do throws(FileError) {
            let file = KeyFile(try contents(ofFile: path, limit: limit, followingLinks: true), groups: [group])
            let text = file.values(of: key, in: group).last.map { String(decoding: $0.bytes, as: UTF8.self) }
            return text?.hasTooManyMarks == true ? nil : text
        } catch {
            return nil
        }
    }
}
