/// The script that prepares the far end of an ssh connection, and removes everything again when the connection ends.
///
/// It runs in any POSIX shell. It has no apostrophe, so that in apostrophes it is one word for every login shell.
enum FarScript {
    /// The beginning of the line with which the script answers, because a login shell's files may print lines too.
    static let mark = "openurl-far"
    /// The line after which the session can begin.
    static let readyLine = "\(mark) ready"

    /// Maximum length of the directory's path, which becomes a part of a socket's path.
    private static let maximumPath = 89
    private static let directoryName = "openurl-XXXXXXXX"

    /// The script's first line.
    enum Answer: Hashable {
        case place(Place)
        /// The far end has no directory that can be used. The connection stays.
        case noPlace

        /// Reads a line; nil if it is not the script's.
        init?(_ line: String) {
            guard line.hasPrefix(mark) else { return nil }
            self = if let place = Place(line) { .place(place) } else { .noPlace }
        }
    }

    /// The result of the script: a line with the mark, the machine's architecture, and the directory.
    struct Place: Hashable {
        let architecture: String
        let directory: String
        /// Whether `openurl-remote` is installed there.
        let hasClient: Bool

        /// Reads the line. The other machine may be hostile, and the directory becomes part of an argument of ssh, so it
        /// must be a plain path.
        init?(_ line: String) {
            let words = line.split(separator: " ")
            guard words.count == 4, words[0] == mark, words[2].utf8.count <= maximumPath,
                words[2].hasPrefix("/"), words[2].utf8.allSatisfy(Self.isPlain), words[1].utf8.allSatisfy(Self.isPlain)
            else { return nil }
            architecture = String(words[1])
            directory = String(words[2])
            hasClient = words[3] == "yes"
        }

        private static func isPlain(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "/._-".utf8.contains(byte)
            }
        }
    }

    /// The script. It reads the size of the client, and the client, from its standard input, and lives as long as that is
    /// open. It does not need its own name for the other program's exit status: 64 says that the client runs.
    static func text(_ names: [String]) -> String {
        [
            "umask 077",
            "d=",
            // A path that is relative, not plain, or too long cannot be used.
            "for p in \"$XDG_RUNTIME_DIR\" \"$TMPDIR\" /tmp; do "
                + "[ -d \"$p\" ] && [ -z \"${p%%/*}\" ] && [ ${#p} -lt \(maximumPath - directoryName.utf8.count) ] "
                + "&& [ -z \"$(printf %s \"$p\" | tr -d A-Za-z0-9/._-)\" ] "
                + "&& d=$(mktemp -d \"$p/\(directoryName)\" 2>/dev/null) && break; done",
            "[ -d \"$d\" ] || { echo \"\(mark) none\"; read -r n; exit 1; }",
            "trap \"rm -rf \\\"$d\\\"\" EXIT",
            "trap \"exit 1\" HUP INT TERM PIPE",
            "c=$(command -v openurl-remote) && h=yes || h=no",
            "echo \"\(mark) $(uname -m) $d $h\"",
            "read -r n || exit 1",
            "if [ \"$n\" -gt 0 ]; then head -c \"$n\" >\"$d/openurl-remote\" && chmod 700 \"$d/openurl-remote\"; "
                + "else ln -s \"$c\" \"$d/openurl-remote\"; fi",
            "for l in \(names.joined(separator: " ")); do ln -s openurl-remote \"$d/$l\"; done",
            "PATH= \"$d/openurl-remote\" 2>/dev/null",
            "[ $? = 64 ] && echo \"\(readyLine)\" || echo \"\(mark) failed\"",
            "read -r n",
            "exit 0",
        ].joined(separator: "; ")
    }
}

extension String {
    /// The string in apostrophes, as one word for a shell.
    var quotedForEveryShell: String { "'\(replacing("'", with: "'\\''"))'" }
}
