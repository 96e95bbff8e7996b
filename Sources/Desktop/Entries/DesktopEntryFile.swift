internal import Glibc
public import UserFiles

/// The text of a desktop entry that is to be written.
public struct DesktopEntryFile: Sendable, Hashable {
    /// How a program takes URLs.
    public enum URLCode: String, Sendable, Hashable {
        /// One process per URL.
        case one = "%u"
        /// One process for all of them.
        case several = "%U"
    }

    /// `Name`.
    public var name: String
    /// `Name` in other languages, by the suffix of the key: `de`, `pt_BR`.
    public var localizedNames: [String: String] = [:]
    /// `Icon`: the name of an icon, or a path.
    public var icon: String?
    /// `MimeType`: what it claims.
    public var mimeTypes: [String] = []
    /// `DBusActivatable`: whether it is activated by the bus name that it is called by.
    public var isDBusActivatable = false
    /// `NoDisplay`: whether menus leave it out.
    public var isHiddenFromMenus = false
    /// `Terminal`: whether the program runs in a terminal.
    public var runsInTerminal = false
    /// `X-OpenURL-Handler`: the handler of this system that the entry is written for.
    public var handler: String?

    private let command: String

    /// An entry that starts a program with URLs as its last arguments.
    ///
    /// - Parameters:
    ///   - command: the program, absolute or a name on `PATH`, and its arguments before the URLs. None of them is
    ///     changed by field codes or a shell.
    ///   - urls: how it takes URLs; `nil` if it takes none.
    /// - Throws: what keeps the command from being read back as it is: no program, a relative path, or one with `=`.
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

    /// The file's text. It says that it follows version 1.1, the first that knows all keys in it.
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
        if isHiddenFromMenus { lines.append("NoDisplay=true") }
        let types = mimeTypes.compactMap(validMimeType)
        if !types.isEmpty { lines.append("MimeType=\(KeyFileText.strings(types))") }
        if let handler { lines.append("\(DesktopEntry.handlerKey)=\(KeyFileText.string(handler))") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Writes the entry into a directory of entries, in one step. The directory's cache does not know of it yet:
    /// ``MimeInfoCache/update(_:claims:insteadOf:)``.
    ///
    /// - Parameter isDurable: whether it is on the disk when this returns.
    public func write(as id: DesktopFileID, in directory: String, isDurable: Bool = true) throws(FileWriteError) {
        try replaceFile("\(directory)/\(id)", with: Array(text.utf8), isDurable: isDurable)
    }

    /// Whether an entry was written and not waited for, and lost to a loss of power.
    public static func isLost(_ id: DesktopFileID, in directory: String) -> Bool {
        isLostToPower("\(directory)/\(id)")
    }

    /// Whether anything stands in the place of an entry in a directory.
    public static func exists(_ id: DesktopFileID, in directory: String) -> Bool {
        access("\(directory)/\(id)", F_OK) == 0
    }

    /// Deletes an entry from a directory, if it is there.
    public static func remove(_ id: DesktopFileID, in directory: String) throws(FileWriteError) {
        try removeFile("\(directory)/\(id)")
    }
}

/// The text of a D-Bus service file that is to be written: how the session bus starts the owner of a name (D-Bus
/// Specification, "Message Bus Starting Services").
public struct DBusServiceFile: Sendable, Hashable {
    /// The bus name.
    public let name: String
    /// The unit by which systemd starts it instead of the command.
    public let systemdUnit: String?
    /// `X-OpenURL-Handler`: the handler of this system that the file is written for, which marks it.
    public var handler: String?

    private let command: String

    /// The service of a bus name; `nil` if that is no well-known bus name, or the program is no absolute path.
    ///
    /// - Parameter command: the program and its arguments. No shell sees them.
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

    /// Writes the file into a directory of services, in one step, under the name that it has to have there.
    ///
    /// - Parameter isDurable: whether it is on the disk when this returns.
    public func write(in directory: String, isDurable: Bool = true) throws(FileWriteError) {
        try replaceFile("\(directory)/\(name).service", with: Array(text.utf8), isDurable: isDurable)
    }

    /// Whether the file of a bus name was written and not waited for, and lost to a loss of power.
    public static func isLost(_ name: String, in directory: String) -> Bool {
        isLostToPower("\(directory)/\(name).service")
    }

    /// Whether a directory has a file for a bus name.
    public static func exists(_ name: String, in directory: String) -> Bool {
        access("\(directory)/\(name).service", F_OK) == 0
    }

    /// Whether the file of a bus name was written for a handler of that name; `nil` if there is none.
    public static func isMarked(_ name: String, in directory: String) throws(FileWriteError) -> Bool? {
        guard let bytes = try contents(ofChangedFile: "\(directory)/\(name).service", limit: DesktopFile.limit) else {
            return nil
        }
        let mark = Array("\(DesktopEntry.handlerKey)=\(name)".utf8)
        return bytes.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual(mark) }
    }

    /// The bus names in a directory whose files were written for handlers.
    public static func marked(in directory: String) throws(FileWriteError) -> [String] {
        let found: [[UInt8]]
        do throws(FileError) {
            found = try names(inDirectory: directory) ?? []
        } catch {
            throw FileWriteError(directory, error.reason)
        }
        var marked: [String] = []
        for name in found {
            guard let name = String(validating: name, as: UTF8.self), name.hasSuffix(".service") else { continue }
            let busName = String(name.dropLast(".service".count))
            guard isBusName(busName) else { continue }
            do throws(FileWriteError) {
                if try isMarked(busName, in: directory) == true { marked.append(busName) }
            } catch {
                // What cannot be read was not written for a handler.
                continue
            }
        }
        return marked
    }

    /// Deletes the file of a bus name from a directory, if it is there.
    public static func remove(_ name: String, in directory: String) throws(FileWriteError) {
        guard isBusName(name) else { return }
        try removeFile("\(directory)/\(name).service")
    }
}

/// Whether a file holds zeros, as a loss of power leaves a file whose blocks are reserved before the contents are written.
///
/// - Returns: false also where there is no file, or the file cannot be read.
private func isLostToPower(_ path: String) -> Bool {
    do throws(FileError) {
        return try contents(ofFile: path, limit: DesktopFile.limit, followingLinks: true).contains(0)
    } catch {
        return false
    }
}

/// An argument as `Exec` takes it ("The Exec key"): in double quotes if it is empty or has a reserved character.
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

/// Whether a text can stand in the brackets of a localised key.
private func isLocaleSuffix(_ text: String) -> Bool {
    !text.isEmpty && text.unicodeScalars.allSatisfy { isNameScalar($0) || $0 == "@" }
}
