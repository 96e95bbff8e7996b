internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener
internal import UserFiles

/// A handler that `openurl new` writes: it greets the name in a URL.
///
/// Its program is named after the identifier, except in Python, where the test imports the program. Modules and sources
/// have the same names in every handler, because names taken from the identifier could clash with a keyword, with one of
/// the language's modules, or with one of the Makefile's targets.
struct HandlerTemplate {
    enum Language: String, CaseIterable {
        case swift, python, c
    }

    /// One of the handler's files.
    struct File {
        /// The path below the handler's directory.
        let path: String
        let text: String
        var isExecutable = false
    }

    let language: Language
    let id: String
    let scheme: String
    /// The name of the program and of the package, and of the directory if the user gives none.
    let name: String

    /// - Parameter scheme: the URLs' scheme; nil for the last element of the identifier.
    /// - Throws: a usage error for an identifier or a scheme that a manifest cannot have.
    init(_ language: Language, id: String, scheme: String?) throws(CommandFailure) {
        let elements = id.split(separator: ".", omittingEmptySubsequences: false)
        guard elements.count >= 2, BusName(rawValue: id)?.isUnique == false, let last = elements.last else {
            throw Self.failure(translated("'\(id)' is not a bundle identifier; use one such as com.example.greeter"))
        }
        if let prefix = Self.systemPrefixes.first(where: { id.hasPrefix($0) }) {
            throw Self.failure(
                translated(
                    """
                    the bundle identifier is \(id), but \(prefix)* belongs to the system; \
                    choose a name below a domain that you own
                    """
                )
            )
        }
        name = last.lowercased().replacing("-", with: "_")
        guard let first = name.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else {
            throw Self.failure(translated("the last element of '\(id)' must begin with a letter"))
        }
        self.scheme = scheme?.lowercased() ?? last.lowercased()
        let isScheme = self.scheme.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                index > 0
            default: false
            }
        }
        guard isScheme, !self.scheme.isEmpty else {
            throw Self.failure(
                translated("'\(self.scheme)' is not a scheme (letters, digits, '+', '-', '.'); give one with --scheme")
            )
        }
        if let problem = Self.problem(withClaimOf: self.scheme) { throw Self.failure(problem) }
        self.language = language
        self.id = id
    }

    /// The beginnings of identifiers that only a handler in the system's directories may have.
    private static let systemPrefixes = ["org.openurl.", "org.freedesktop."]

    /// Returns the registry's reason why no handler can claim a scheme; nil if there is none.
    ///
    /// This repeats the registry's rules, because the command does not contain the registry.
    private static func problem(withClaimOf scheme: String) -> String? {
        let (count, limit) = (scheme.utf8.count, 64)
        if count > limit {
            return translated("the scheme has \(count) bytes; a scheme may have at most \(limit)")
        }
        return switch scheme {
        case XCallbackURL.replyScheme: translated("the scheme is \(scheme), which belongs to the router")
        case "http", "https":
            translated("\(scheme) belongs to the browser; OUAssociatedDomains claims the links to a site")
        default: nil
        }
    }

    private static func failure(_ message: String) -> CommandFailure {
        CommandFailure(.invalidArguments, message, exitStatus: ExitStatus.usage)
    }

    /// Returns the files, the manifest last.
    ///
    /// - Parameter clone: the path of openurl's package, for Swift.
    func files(clone: String) -> [File] {
        let sources =
            switch language {
            case .swift: swiftFiles(clone: clone)
            case .python: pythonFiles
            case .c: cFiles
            }
        return sources + [File(path: "\(id).plist", text: manifest)]
    }

    /// Returns commands for the user to copy, which build, test, register and open the handler, and start it again
    /// after a change.
    func commands(in directory: String) -> [String] {
        let place = quotedForShell(directory)
        let (build, test): ([String], String) =
            switch language {
            case .swift: (["swift build"], "swift test")
            case .python: ([], "/usr/bin/python3 -m unittest")
            case .c: (["make"], "make test")
            }
        return ["cd \(place)"] + build + [
            test, "openurl register \(quotedForShell("\(directory)/\(id).plist"))",
            "openurl --json '\(scheme):?name=World'",
            "", "# After a change (the test checks the reply, so change both):",
        ] + build + ["openurl restart \(id)"]
    }

    /// The program in the manifest, as a path relative to the manifest's directory.
    private var executable: String {
        switch language {
        case .swift: ".build/debug/\(name)"
        case .python: "./handler.py"
        case .c: "build/\(name)"
        }
    }

    private var manifest: String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <!-- openurl-manifest(5) describes the keys, and 'openurl check' finds mistakes. -->
        <plist version="1.0">
        <dict>
            <key>CFBundleIdentifier</key>
            <string>\(id)</string>
            <key>CFBundleExecutable</key>
            <string>\(executable)</string>
            <key>CFBundleURLTypes</key>
            <array>
                <dict>
                    <key>CFBundleURLName</key>
                    <string>\(id)</string>
                    <key>CFBundleURLSchemes</key>
                    <array>
                        <string>\(scheme)</string>
                    </array>
                </dict>
            </array>
        </dict>
        </plist>

        """
    }
}
