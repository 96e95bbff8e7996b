internal import UserFiles

/// An application as its desktop entry declares it.
///
/// `OnlyShowIn` and `NotShowIn` say in which desktop's menus an entry is shown; an application that is not shown opens
/// URLs like any other, so they are not read.
public struct DesktopEntry: Sendable, Hashable {
    /// What the desktop knows the application by.
    public let id: DesktopFileID
    /// Where the entry was found.
    public let file: String
    /// The place of its directory in ``DesktopDirectories/applicationDirectories``.
    public let precedence: Int
    /// `Name`, localised.
    public let name: String
    /// `Exec`; `nil` only if ``isDBusActivatable``.
    public let command: ExecCommand?
    /// `TryExec`: the program without which the application counts as not installed.
    public let tryProgram: String?
    /// The bus name by which the application is activated: the name of its file without `.desktop`. `nil` unless
    /// `DBusActivatable` is true.
    public let busName: String?
    /// `Terminal`: whether the program runs in a terminal.
    public let runsInTerminal: Bool
    /// `Path`: the directory in which the program starts.
    public let workingDirectory: String?
    /// `Icon`, localised: the name of an icon, or a path.
    public let icon: String?
    /// `NoDisplay`: whether menus leave it out. It opens what it claims all the same.
    public let isHiddenFromMenus: Bool
    /// `MimeType`: what it claims to open, in lower case, each once, without those that are no MIME types.
    public let mimeTypes: [String]
    /// `X-OpenURL-Handler`: the handler of this system that the entry was written for.
    public let handler: String?

    /// Whether the application is activated over D-Bus instead of being started as ``command``.
    public var isDBusActivatable: Bool { busName != nil }

    /// The object that exports `org.freedesktop.Application`: the bus name with `/` for `.` and `_` for `-` (Desktop
    /// Entry Specification, "D-Bus Activation").
    public var objectPath: String? {
        busName.map { "/" + $0.replacing(["."], "/").replacing(["-"], "_") }
    }

    /// The schemes that it claims as `x-scheme-handler/<scheme>`, in lower case.
    public var urlSchemes: [String] {
        mimeTypes.filter { $0.hasPrefix(schemeHandlerPrefix) }.map { String($0.dropFirst(schemeHandlerPrefix.count)) }
    }

    /// The key that names the handler an entry was written for.
    public static let handlerKey = "X-OpenURL-Handler"
}

/// What the MIME types of schemes start with (Shared MIME-info, "URI scheme handlers").
let schemeHandlerPrefix = "x-scheme-handler/"

/// The MIME type by which desktops associate a scheme with applications.
public func schemeHandlerType(_ scheme: String) -> String { schemeHandlerPrefix + asciiLowercased(scheme) }

extension String {
    fileprivate func replacing(_ characters: Set<Character>, _ other: Character) -> String {
        String(map { characters.contains($0) ? other : $0 })
    }
}

/// Whether a name is a well-known bus name (D-Bus Specification, "Valid Names").
func isBusName(_ name: some StringProtocol) -> Bool {
    let elements = name.split(separator: ".", omittingEmptySubsequences: false)
    return name.utf8.count <= 255 && elements.count >= 2
        && elements.allSatisfy { element in
            guard let first = element.utf8.first, !isDigit(first) else { return false }
            return element.unicodeScalars.allSatisfy(isNameScalar)
        }
}

/// The type in lower case if it is a MIME type that can be claimed, `nil` otherwise.
///
/// Type and subtype are restricted names of RFC 6838 section 4.2. What follows `x-scheme-handler/` has to be a scheme of
/// RFC 3986 section 3.1, of 64 bytes at most.
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

private func isSchemeByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: isLetter(byte) || isDigit(byte)
    }
}
