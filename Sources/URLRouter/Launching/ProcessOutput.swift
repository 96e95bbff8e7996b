internal import Glibc
internal import UserFiles

/// The place of the output of one process.
enum ProcessOutput: Hashable, Sendable {
    /// The journal, under an identifier.
    case journal(identifier: String)
    /// A file, from a number of bytes on. Another process may have written the bytes before.
    case file(String, start: Int64)
    /// The output is lost.
    case nowhere

    /// The end of a message about the failure of the process: its last line, or the command that shows the output.
    var hint: String {
        switch self {
        case .journal(let identifier): "; 'journalctl --user -t \(identifier)' shows its output"
        case .file, .nowhere: lastLine.map { "; it wrote: \($0)" } ?? ""
        }
    }

    /// The last line that is not blank; nil if there is none that the router can read.
    var lastLine: String? {
        if case .file(let path, let start) = self { lastNonBlankLine(ofFile: path, from: start) } else { nil }
    }
}

/// The bytes at the end of a file in which its last line is looked for. A line that quotes the longest URL fits in.
private let searchedBytes = 1 << 17

/// The last line of a file that is not blank, cut to 300 bytes, with misleading characters escaped; nil without such a line.
private func lastNonBlankLine(ofFile path: String, from start: Int64) -> String? {
    do throws(FileError) {
        let (descriptor, status) = try openFile(path, limit: .max, followingLinks: false)
        defer { close(descriptor) }
        let size = Int64(status.st_size)
        // A file that is shorter than before has been emptied since.
        let first = max(size < start ? 0 : start, size - Int64(searchedBytes))
        let bytes = [UInt8](unsafeUninitializedCapacity: searchedBytes) { buffer, initialized in
            initialized = max(pread(descriptor, buffer.baseAddress, buffer.count, off_t(first)), 0)
        }
        let lines = String(decoding: bytes, as: UTF8.self).unicodeScalars.split { $0 == "\n" || $0 == "\r" }
        guard let line = lines.last(where: { !$0.allSatisfy(\.properties.isWhitespace) }) else { return nil }
        return escaped(line.drop(while: \.properties.isWhitespace))
    } catch {
        // The file was removed.
        return nil
    }
}

private func escaped(_ line: Substring.UnicodeScalarView) -> String {
    var text = ""
    for scalar in line {
        guard text.utf8.count < 300 else { return text + "…" }
        text += isMisleading(scalar) ? scalar.escaped(asASCII: true) : String(scalar)
    }
    return text
}
