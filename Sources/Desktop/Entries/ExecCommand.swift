/// The command in an `Exec` key: a program and its arguments, parsed once and expanded each time without a shell.
///
/// The syntax is the one in the Desktop Entry Specification, "The Exec key". Quoting follows GLib, which accepts more
/// than the specification: single quotes, quotes within an argument, and backslashes outside quotes work as in a shell.
/// Existing entries depend on this. Field codes follow the specification strictly: an invalid or undefined use is an
/// error.
public struct ExecCommand: Sendable, Hashable {
    /// The program: an absolute path, or a name to look up in `PATH`.
    public let program: String
    let arguments: [Argument]

    /// A part of an argument.
    enum Piece: Sendable, Hashable {
        case text(String)
        /// The field code `%u`.
        case url
        /// The field code `%f`.
        case file
        /// The field code `%c`.
        case name
        /// The field code `%k`.
        case entryFile
    }

    /// An argument before its expansion.
    enum Argument: Sendable, Hashable {
        case pieces([Piece])
        /// The field code `%U`.
        case urls
        /// The field code `%F`.
        case files
        /// The field code `%i`.
        case icon
    }

    /// The program and the fixed text of its arguments.
    package var words: [String] {
        [program]
            + arguments.compactMap { argument in
                guard case .pieces(let pieces) = argument else { return nil }
                return pieces.compactMap { if case .text(let text) = $0 { text } else { nil } }.joined()
            }
    }

    /// Whether one process takes all URLs, because the command has `%U` or `%F`.
    public var takesSeveralURLs: Bool { arguments.contains(.urls) || arguments.contains(.files) }

    /// Whether a field code stands for the URL. Without one, GLib starts the command without the URL.
    public var hasURLCode: Bool {
        takesSeveralURLs
            || arguments.contains { argument in
                guard case .pieces(let pieces) = argument else { return false }
                return pieces.contains(.url) || pieces.contains(.file)
            }
    }

    /// Replaces the field codes, and returns the arguments for each process to start. The first argument is the
    /// program.
    ///
    /// If the command has `%U` or `%F`, there is one process for all URLs. Otherwise there is one process for each URL,
    /// in order, or one without a URL if `urls` is empty. A command without a field code for URLs gets the URL as its
    /// last argument, in the form of `%f`.
    ///
    /// For a local `file` URL, `%f` and `%F` give its path; they leave any other URL unchanged, as `xdg-open` does.
    /// GLib drops such a URL, so the application never receives it.
    ///
    /// - Parameters:
    ///   - urls: The URLs to open.
    ///   - name: The entry's localised name, for `%c`.
    ///   - icon: The entry's icon, for `%i`. Without an icon, `%i` produces no arguments.
    ///   - file: The entry's path, for `%k`.
    public func arguments(opening urls: [String], name: String, icon: String?, file: String) -> [[String]] {
        if takesSeveralURLs || urls.isEmpty {
            return [expanded(urls[...], name, icon, file)]
        }
        return urls.indices.map { expanded(urls[$0...$0], name, icon, file) }
    }

    /// Returns a command with more options of the program, in front of the URL.
    ///
    /// They also go in front of `--`, after which there are no options, and of the marks with which Flatpak surrounds
    /// the files that it passes on, such as `@@u`.
    package func adding(_ options: [String]) -> ExecCommand {
        let url = arguments.firstIndex { argument in
            switch argument {
            case .urls, .files: true
            case .pieces(let pieces): pieces.contains(.url) || pieces.contains(.file)
            case .icon: false
            }
        }
        var place = url ?? arguments.endIndex
        while place > 0, case .pieces(let pieces) = arguments[place - 1], case .text(let text)? = pieces.first,
            text == "--" || text.hasPrefix("@@")
        {
            place -= 1
        }
        let added = options.map { Argument.pieces([.text($0)]) }
        return ExecCommand(program: program, arguments: Array(arguments[..<place] + added + arguments[place...]))
    }

    private func expanded(
        _ urls: ArraySlice<String>,
        _ name: String,
        _ icon: String?,
        _ file: String
    ) -> [String] {
        var result = [program]
        var isTaken = false
        for argument in arguments {
            switch argument {
            case .urls:
                result += urls
                isTaken = true
            case .files:
                result += urls.map(localPath)
                isTaken = true
            case .icon:
                if let icon, !icon.isEmpty { result += ["--icon", icon] }
            case .pieces(let pieces):
                if pieces.contains(.url) || pieces.contains(.file) {
                    isTaken = true
                    // Without a URL, an argument that is only `%u` or `%f` disappears.
                    if pieces.count == 1, urls.isEmpty { continue }
                }
                result.append(
                    pieces.map { piece in
                        switch piece {
                        case .text(let text): text
                        case .url: urls.first ?? ""
                        case .file: urls.first.map(localPath) ?? ""
                        case .name: name
                        case .entryFile: file
                        }
                    }.joined()
                )
            }
        }
        return isTaken ? result : result + urls.map(localPath)
    }
}

/// Returns the path of a `file` URL on this machine, and any other URL unchanged.
private func localPath(_ url: String) -> String {
    localFilePath(ofURL: url).flatMap { String(validating: $0, as: UTF8.self) } ?? url
}
