internal import UserFiles

/// An application, as its desktop entry declares it.
///
/// `OnlyShowIn` and `NotShowIn` are not read: they select the desktops whose menus show an entry, and an application
/// that is not shown can still open URLs.
public struct DesktopEntry: Sendable, Hashable {
    /// The name by which the desktop knows the application.
    public let id: DesktopFileID
    /// The path of the entry's file.
    public let file: String
    /// The index of the entry's directory in ``DesktopDirectories/applicationDirectories``.
    public let precedence: Int
    /// The application's localised name, from the key `Name`.
    public let name: String
    /// The command that starts the application, from the key `Exec`; `nil` only if ``isDBusActivatable``.
    public let command: ExecCommand?
    /// The command that opens a private window, from the action `new-private-window`; `nil` if there is none.
    package let privateWindowCommand: ExecCommand?
    /// The program without which the application counts as not installed, from the key `TryExec`.
    public let tryProgram: String?
    /// The bus name through which the application is activated; `nil` unless the key `DBusActivatable` is true.
    ///
    /// It is the name of the entry's file without `.desktop`.
    public let busName: String?
    /// Whether the program runs in a terminal, from the key `Terminal`.
    public let runsInTerminal: Bool
    /// The directory in which the program starts, from the key `Path`.
    public let workingDirectory: String?
    /// The localised name or the path of an icon, from the key `Icon`.
    public let icon: String?
    /// Whether menus leave the application out, from the key `NoDisplay`. It still opens its MIME types.
    public let isHiddenFromMenus: Bool
    /// The MIME types that the application claims to open, from the key `MimeType`.
    ///
    /// They are in lower case, without repetitions and without invalid types.
    public let mimeTypes: [String]
    /// The intents that the application implements, from the key `Implements`.
    public let intents: [ImplementedIntent]
    /// This system's handler for which the entry was written, from the key `X-OpenURL-Handler`.
    public let handler: String?
    /// A hash of the file's contents, valid only in this process; `nil` for an entry without a handler.
    package let contentsHash: Int?

    /// Whether the application is activated over D-Bus, so that ``command`` is not used.
    public var isDBusActivatable: Bool { busName != nil }

    /// The path of the object that exports `org.freedesktop.Application`: the bus name with `/` in place of `.` and `_`
    /// in place of `-` (Desktop Entry Specification, "D-Bus Activation").
    public var objectPath: String? {
        busName.map { "/" + $0.replacing(["."], "/").replacing(["-"], "_") }
    }

    /// All schemes that the application claims as `x-scheme-handler/<scheme>`, in lower case.
    public var urlSchemes: [String] {
        mimeTypes.filter { $0.hasPrefix(schemeHandlerPrefix) }.map { String($0.dropFirst(schemeHandlerPrefix.count)) }
    }

    /// The key that gives the handler for which an entry was written.
    public static let handlerKey = "X-OpenURL-Handler"
}

/// The prefix of the MIME types that stand for URL schemes (Shared MIME-info, "URI scheme handlers").
let schemeHandlerPrefix = "x-scheme-handler/"

/// Returns the MIME type by which desktops associate a scheme with applications.
public func schemeHandlerType(_ scheme: String) -> String { schemeHandlerPrefix + asciiLowercased(scheme) }

extension String {
    fileprivate func replacing(_ characters: Set<Character>, _ other: Character) -> String {
        String(map { characters.contains($0) ? other : $0 })
    }
}

/// Returns whether a name is a well-known bus name (D-Bus Specification, "Valid Names").
func isBusName(_ name: some StringProtocol) -> Bool {
    let elements = name.split(separator: ".", omittingEmptySubsequences: false)
    return name.utf8.count <= 255 && elements.count >= 2
        && elements.allSatisfy { element in
            guard let first = element.utf8.first, !isDigit(first) else { return false }
            return element.unicodeScalars.allSatisfy(isNameScalar)
        }
}

/// Returns a MIME type in lower case; `nil` if an application cannot claim the text as one.
///
/// The type and the subtype are restricted names as in RFC 6838 section 4.2. After `x-scheme-handler/`, the subtype
/// must be a scheme as in RFC 3986 section 3.1, with at most 64 bytes.
func validMimeType(_ text: String) -> String? {
    let bytes = text.utf8
    guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")), isRestrictedName(bytes[..<slash]) else { return nil }
    let subtype = bytes[bytes.index(after: slash)...]
    guard isRestrictedName(subtype) else { return nil }
    let type = asciiLowercased(text)
    if type.hasPrefix(schemeHandlerPrefix) {
        guard let first = subtype.first, isLetter(first), subtype.count <= 64, subtype.allSatisfy(isSchemeByte)
        else { return nil }
    }
    return type
}

private func isRestrictedName(_ name: Substring.UTF8View) -> Bool {
    guard let first = name.first, isLetter(first) || isDigit(first), name.count <= 127 else { return false }
    return name.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "^"),
            UInt8(ascii: "_"):
            true
        default: isSchemeByte(byte)
        }
    }
}

func isSchemeByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: isLetter(byte) || isDigit(byte)
    }
}
