/// `Exec`: a program with its arguments, parsed once and expanded for every opening. No shell ever sees it.
///
/// Desktop Entry Specification, "The Exec key". Quoting is undone as GLib does it, which is more than the specification
/// allows: single quotes, quotes within an argument and backslashes outside quotes are as in a shell, since entries in
/// use need them. Field codes are as strict as the specification: what it calls invalid or undefined is an error.
public struct ExecCommand: Sendable, Hashable {
    /// The program: an absolute path, or a name to be looked for in `PATH`.
    public let program: String
    let arguments: [Argument]

    /// A part of an argument.
    enum Piece: Sendable, Hashable {
        case text(String)
        /// `%u`.
        case url
        /// `%f`.
        case file
        /// `%c`.
        case name
        /// `%k`.
        case entryFile
    }

    /// An argument before its expansion.
    enum Argument: Sendable, Hashable {
        case pieces([Piece])
        /// `%U`.
        case urls
        /// `%F`.
        case files
        /// `%i`.
        case icon
    }

    /// Whether one process takes all URLs: the command has `%U` or `%F`.
    public var takesSeveralURLs: Bool { arguments.contains(.urls) || arguments.contains(.files) }

    /// The command with its field codes replaced: all of `argv` for each process to be started, the program first.
    ///
    /// `%U` and `%F` take all URLs. Otherwise there is one process per URL, in order, and one without any if `urls` is
    /// empty. A command without a field code for URLs gets each as its last argument, as `%f` would give it.
    ///
    /// `%f` and `%F` give the path of a local `file` URL, and any other URL as it is. (GLib leaves such a URL out, and
    /// the application never hears of it; `xdg-open` hands it over.)
    ///
    /// - Parameters:
    ///   - name: the entry's localised name, for `%c`.
    ///   - icon: the entry's icon, for `%i`, which gives nothing without one.
    ///   - file: the entry's path, for `%k`.
    public func arguments(opening urls: [String], name: String, icon: String?, file: String) -> [[String]] {
        if takesSeveralURLs || urls.isEmpty {
            return [expanded(urls[...], name, icon, file)]
        }
        return urls.indices.map { expanded(urls[$0...$0], name, icon, file) }
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
                    // Alone, the code stands for no argument at all.
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

/// The path of a `file` URL of this machine (RFC 8089), or the URL itself if it is none.
private func localPath(_ url: String) -> String {
    let bytes = Array(url.utf8)
    guard url.prefix(5).lowercased() == "file:" else { return url }
    var rest = bytes[5...]
    if rest.starts(with: "//".utf8) {
        rest = rest.dropFirst(2)
        let host = rest.prefix { $0 != UInt8(ascii: "/") }
        guard ["", "localhost"].contains(String(decoding: host, as: UTF8.self).lowercased()) else { return url }
        rest = rest.dropFirst(host.count)
    }
    // A path has no query and no fragment.
    guard rest.first == UInt8(ascii: "/"), !rest.contains(UInt8(ascii: "?")), !rest.contains(UInt8(ascii: "#"))
    else { return url }
    var path: [UInt8] = []
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "%") else {
            path.append(byte)
            continue
        }
        guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue),
            high << 4 | low != 0
        else { return url }
        path.append(high << 4 | low)
    }
    return String(validating: path, as: UTF8.self) ?? url
}

private func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
