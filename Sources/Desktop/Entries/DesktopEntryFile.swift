internal import Glibc
public import UserFiles

/// A desktop entry that can be written to a file.
public struct DesktopEntryFile: Sendable, Hashable {
    /// The way in which a program takes URLs.
    public enum URLCode: String, Sendable, Hashable {
        /// One URL, so that each URL starts its own process.
        case one = "%u"
        /// All URLs, in one process.
        case several = "%U"
    }

    /// The application's name, written as `Name`.
    public var name: String
    /// The name in other languages, by the key's suffix: `de`, `pt_BR`.
    public var localizedNames: [String: String] = [:]
    /// An icon's name or path, written as `Icon`.
    public var icon: String?
    /// The MIME types that the application claims, written as `MimeType`.
    public var mimeTypes: [String] = []
    /// Whether the application is activated through the bus name after which the file is named, written as
    /// `DBusActivatable`.
    public var isDBusActivatable = false
    /// Whether menus leave the application out, written as `NoDisplay`.
    public var isHiddenFromMenus = false
    /// The desktops whose menus may show the application, written as `OnlyShowIn`; empty for all.
    public var desktops: [String] = []
    /// The application's places in menus, written as `Categories`.
    public var categories: [String] = []
    /// Whether the program runs in a terminal, written as `Terminal`.
    public var runsInTerminal = false
    /// Whether the desktop passes the program a token that entitles it to the focus, written as `StartupNotify`.
    public var hasStartupNotification = false
    /// This system's handler for which the entry is written, written as `X-OpenURL-Handler`.
    public var handler: String?

    private let command: String

    /// Creates an entry that starts a program with URLs as its last arguments.
    ///
    /// - Parameters:
    ///   - name: The application's name.
    ///   - command: The program and its arguments before the URLs. The program is an absolute path or a name to look up
    ///     in `PATH`. None of these strings is changed by field codes or a shell.
    ///   - urls: The form in which the program takes URLs; `nil` if it takes none.
    /// - Throws: An error if the command could not be read back unchanged, because there is no program, or because the
    ///   program is a relative path or contains `=`.
    public init(
        name: String,
        command: [String],
        urls: URLCode? = .one
    ) throws(ExecCommand.ParseError) {
        self.name = name
        let arguments = command.map {
            quotedArgument($0.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%%"))
        }
        self.command = (arguments + [urls?.rawValue].compactMap { $0 }).joined(separator: " ")
        _ = try ExecCommand(parsing: self.command)
    }

    /// The file's text.
    ///
    /// It states version 1.1 of the specification, the first version that has all the keys in the text.
    public var text: String {
        var lines = ["[Desktop Entry]", "Type=Application", "Version=1.1"]
        lines.append("Name=\(KeyFileText.string(name))")
        for (language, name) in localizedNames.sorted(by: { $0.key < $1.key }) where isLocaleSuffix(language) {
            lines.append("Name[\(language)]=\(KeyFileText.string(name))")
        }
        if let icon { lines.append("Icon=\(KeyFileText.string(icon))") }
        lines.append("Exec=\(KeyFileText.string(command))")
        if runsInTerminal { lines.append("Terminal=true") }
        if isDBusActivatable { lines.append("DBusActivatable=true") }
        if hasStartupNotification { lines.append("StartupNotify=true") }
        if isHiddenFromMenus { lines.append("NoDisplay=true") }
        if !desktops.isEmpty { lines.append("OnlyShowIn=\(KeyFileText.strings(desktops))") }
        if !categories.isEmpty { lines.append("Categories=\(KeyFileText.strings(categories))") }
        let types = mimeTypes.compactMap(validMimeType)
        if !types.isEmpty { lines.append("MimeType=\(KeyFileText.strings(types))") }
        if let handler { lines.append("\(DesktopEntry.handlerKey)=\(KeyFileText.string(handler))") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A hash of the text, equal to the ``DesktopEntry/contentsHash`` of a file with the same text.
    package var contentsHash: Int { Array(text.utf8).hashValue }

    /// Writes the entry into a directory for entries, in one step.
    ///
    /// The directory's cache does not list the entry until you call ``MimeInfoCache/update(_:claims:insteadOf:)``.
    ///
    /// - Parameters:
    ///   - id: The ID, which is also the file's name.
    ///   - directory: The path of the directory.
    ///   - isDurable: Whether to wait until the file is on disk.
    public func write(as id: DesktopFileID, in directory: String, isDurable: Bool = true) throws(FileWriteError) {
        try replaceFile("\(directory)/\(id)", with: Array(text.utf8), isDurable: isDurable)
    }

    /// Returns whether a power failure destroyed an entry that was not written durably.
    public static func isLost(_ id: DesktopFileID, in directory: String) -> Bool {
        isLostToPower("\(directory)/\(id)")
    }

    /// Returns whether a directory contains an entry, or anything else with the entry's name.
    public static func exists(_ id: DesktopFileID, in directory: String) -> Bool {
        access("\(directory)/\(id)", F_OK) == 0
    }

    /// Returns whether there is a link where an entry should be. None of this system's programs creates such links.
    public static func isLink(_ id: DesktopFileID, in directory: String) -> Bool {
        UserFiles.isLink("\(directory)/\(id)")
    }

    /// Deletes an entry from a directory, if it exists and is not a link.
    public static func remove(_ id: DesktopFileID, in directory: String) throws(FileWriteError) {
        guard !isLink(id, in: directory) else { return }
        try removeFile("\(directory)/\(id)")
    }
}

/// A D-Bus service file that can be written. It says how the session bus starts the owner of a bus name (D-Bus
/// Specification, "Message Bus Starting Services").
public struct DBusServiceFile: Sendable, Hashable {
    /// The bus name.
    public let name: String
    /// The unit that systemd starts instead of the command.
    public let systemdUnit: String?
    /// This system's handler for which the file is written, written as `X-OpenURL-Handler`. This key marks the file.
    public var handler: String?

    private let command: String

    /// Creates the service for a bus name; `nil` if `name` is not a well-known bus name, or if the program is not an
    /// absolute path.
    ///
    /// - Parameters:
    ///   - name: The bus name.
    ///   - command: The program and its arguments, which no shell interprets.
    ///   - systemdUnit: The unit that systemd starts instead of the command.
    public init?(name: String, command: [String], systemdUnit: String? = nil) {
        guard isBusName(name), let program = command.first, program.hasPrefix("/") else { return nil }
        self.name = name
        self.command = command.map(quotedArgument).joined(separator: " ")
        self.systemdUnit = systemdUnit
    }

    /// The file's text.
    public var text: String {
        var lines = ["[D-BUS Service]", "Name=\(name)", "Exec=\(KeyFileText.string(command))"]
        if let systemdUnit { lines.append("SystemdService=\(KeyFileText.string(systemdUnit))") }
        if let handler { lines.append("\(DesktopEntry.handlerKey)=\(KeyFileText.string(handler))") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Writes the file into a directory for services, in one step. The file's name is the bus name with `.service`.
    ///
    /// - Parameters:
    ///   - directory: The path of the directory.
    ///   - isDurable: Whether to wait until the file is on disk.
    public func write(in directory: String, isDurable: Bool = true) throws(FileWriteError) {
        try replaceFile("\(directory)/\(name).service", with: Array(text.utf8), isDurable: isDurable)
    }

    /// Returns whether a power failure destroyed a bus name's file that was not written durably.
    public static func isLost(_ name: String, in directory: String) -> Bool {
        isLostToPower("\(directory)/\(name).service")
    }

    /// Returns whether a directory has a file for a bus name.
    public static func exists(_ name: String, in directory: String) -> Bool {
        access("\(directory)/\(name).service", F_OK) == 0
    }

    /// Returns the version of a bus name's file; nil if there is none.
    package static func version(_ name: String, in directory: String) -> FileVersion? {
        do throws(FileError) {
            return FileVersion(try status(of: "\(directory)/\(name).service", followingLinks: false))
        } catch {
            return nil
        }
    }

    /// Returns the program that a bus name's file starts; nil if the file cannot be read, or has no program.
    package static func program(of name: String, in directory: String) -> String? {
        DBusServiceNames.command(inFile: "\(directory)/\(name).service").first
    }

    /// Returns whether a bus name's file was written for the handler with that name; `nil` if the file does not exist.
    /// A link never counts as written for a handler.
    public static func isMarked(_ name: String, in directory: String) throws(FileWriteError) -> Bool? {
        guard !UserFiles.isLink("\(directory)/\(name).service") else { return false }
        guard let bytes = try contents(ofChangedFile: "\(directory)/\(name).service", limit: DesktopFile.limit) else {
            return nil
        }
        let mark = Array("\(DesktopEntry.handlerKey)=\(name)".utf8)
        return bytes.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual(mark) }
    }

    private static let fileSuffix = Array(".service".utf8)

    /// Deletes the files in a directory that were written for handlers.
    ///
    /// - Parameter others: names whose files stay. They are not read.
    /// - Throws: an error, a temporary one if there is any, after all other files were considered. If a file cannot be
    ///   read, only a temporary error counts; otherwise, the file was not written for a handler.
    public static func removeMarked(in directory: String, except others: Set<String> = []) throws(FileWriteError) {
        let found: [[UInt8]]
        do throws(FileError) {
            found = try names(inDirectory: directory) ?? []
        } catch {
            throw FileWriteError(directory, error)
        }
        var failure: FileWriteError?
        for name in found {
            guard name.suffix(fileSuffix.count).elementsEqual(fileSuffix),
                let busName = String(validating: name.dropLast(fileSuffix.count), as: UTF8.self),
                !others.contains(busName), isBusName(busName)
            else { continue }
            let isMarked: Bool
            do throws(FileWriteError) {
                isMarked = try Self.isMarked(busName, in: directory) == true
            } catch {
                if error.isTemporary { failure = error }
                continue
            }
            do throws(FileWriteError) {
                if isMarked { try remove(busName, in: directory) }
            } catch {
                if failure?.isTemporary != true { failure = error }
            }
        }
        if let failure { throw failure }
    }

    /// Deletes a bus name's file from a directory, if it exists.
    public static func remove(_ name: String, in directory: String) throws(FileWriteError) {
        guard isBusName(name) else { return }
        try removeFile("\(directory)/\(name).service")
    }
}

/// Returns whether a file ends in zeros. A power failure leaves a file like this if its blocks were reserved before the
/// contents were written. The result is false if the file does not exist or cannot be read.
private func isLostToPower(_ path: String) -> Bool {
    do throws(FileError) {
        let bytes = try contents(ofFile: path, limit: DesktopFile.limit, followingLinks: true)
        guard let start = bytes.firstIndex(of: 0) else { return false }
        return bytes[start...].allSatisfy { $0 == 0 }
    } catch {
        return false
    }
}

/// Returns an argument in the form that `Exec` requires: in double quotes if it is empty or contains a reserved
/// character ("The Exec key").
private func quotedArgument(_ argument: String) -> String {
    let reserved = " \t\n\"'\\><~|&;$*?#()`".unicodeScalars
    if !argument.isEmpty, !argument.unicodeScalars.contains(where: reserved.contains) { return argument }
    var result = "\""
    for scalar in argument.unicodeScalars {
        if "\"`$\\".unicodeScalars.contains(scalar) { result += "\\" }
        result.unicodeScalars.append(scalar)
    }
    return result + "\""
}

/// Returns whether a string is allowed in the brackets of a localised key.
private func isLocaleSuffix(_ text: String) -> Bool {
    !text.isEmpty && text.unicodeScalars.allSatisfy { isNameScalar($0) || $0 == "@" }
}
