internal import ByteCoding
internal import CLinux
internal import Glibc
internal import OpenURLBus
internal import UserFiles

/// Where one process's output goes.
enum ProcessOutput: Hashable, Sendable {
    /// The journal, under an identifier.
    case journal(identifier: String)
    /// A file, from a byte offset on. The bytes before it may come from another process.
    case file(String, start: Int64)
    /// Nowhere: the output is lost.
    case nowhere

    /// Returns the end of a message about the process's failure. It quotes the line of a file that explains the
    /// failure, and names either the command that shows the output or the file.
    ///
    /// The line is the last one with a Swift fatal error, or else the last one that is not part of Swift's backtrace.
    ///
    /// - Parameters:
    ///   - handler: the identifier of the process's handler; nil for an application, whose output the command does not show.
    ///   - isShared: whether several processes may have written at the same time. In that case, no line is quoted.
    func hint(of handler: String?, isShared: Bool = false) -> QuotingText {
        let command: QuotingText? = handler.map { "; 'openurl output \($0)' shows its output" }
        switch self {
        case .journal(let identifier):
            return command ?? "; 'journalctl --user -t \(identifier)' shows its output"
        case .file(let path, let start):
            let place = command ?? "; its output is in \(printable(path))"
            if isShared { return place }
            return line(ofFile: path, from: start, chosenBy: tellingLine).map { "; it wrote: \($0)" + place } ?? ""
        case .nowhere: return ""
        }
    }

    /// The last line that is not blank; nil if there is none that the router can read.
    var lastLine: String? {
        if case .file(let path, let start) = self { line(ofFile: path, from: start, chosenBy: \.last) } else { nil }
    }
}

private typealias Line = Substring.UnicodeScalarView

/// Number of bytes at the end of a file in which a line is searched for. This is enough for a line that quotes the
/// longest URL, and for a backtrace of a few threads.
private let searchedBytes = 1 << 17

/// Returns a line from a file, cut to 300 bytes, with misleading characters escaped; nil if there is none.
///
/// - Parameter choose: picks one of the lines that are not blank.
private func line(ofFile path: String, from start: Int64, chosenBy choose: ([Line]) -> Line?) -> String? {
    do throws(FileError) {
        let (descriptor, status) = try openFile(path, limit: .max, followingLinks: false)
        defer { close(descriptor) }
        let size = Int64(status.st_size)
        // If a file is shorter than before, it has been emptied since.
        let first = max(size < start ? 0 : start, size - Int64(searchedBytes))
        let bytes = [UInt8](unsafeUninitializedCapacity: searchedBytes) { buffer, initialized in
            initialized = max(pread(descriptor, buffer.baseAddress, buffer.count, off_t(first)), 0)
        }
        let lines = String(decoding: bytes, as: UTF8.self).unicodeScalars.split { $0 == "\n" || $0 == "\r" }
            .filter { !$0.allSatisfy(\.properties.isWhitespace) }
        return choose(lines).map { line in
            escaped(trimmed(line)) + (place(ofMistake: line, in: lines).map { " (\(escaped($0)))" } ?? "")
        }
    } catch {
        // The file was removed.
        return nil
    }
}

/// Picks the line that explains a failure. Swift first writes the reason for a fatal error. Afterwards, its backtracer
/// writes the threads, the registers and the images.
private func tellingLine(of lines: [Line]) -> Line? {
    var (fatal, last, headline): (Line?, Line?, Line?)
    var isInBacktrace = false
    for line in lines {
        // Such a line cannot be Swift's, and would take a long time to search.
        let text = String(line).hasTooManyMarks ? "" : Substring(line)
        if text.contains("Fatal error: ") {
            fatal = line
        } else if text.contains(": Backtracing from 0x") {
            isInBacktrace = true
        } else if text.contains("Program crashed: ") {
            (isInBacktrace, headline) = (true, line)
        } else if text.hasPrefix("Backtrace took ") {
            // If the backtrace is long, its first lines may not have been read.
            if !isInBacktrace { last = nil }
            isInBacktrace = false
        } else if !isInBacktrace {
            last = line
        }
    }
    return fatal ?? last ?? headline ?? lines.last
}

/// Returns the location of an error in a program that Python could not parse. It is a few lines above the name of the
/// error.
private func place(ofMistake line: Line, in lines: [Line]) -> Line? {
    guard
        ["SyntaxError: ", "IndentationError: ", "TabError: "].contains(where: { line.starts(with: $0.unicodeScalars) })
    else { return nil }
    return lines.last { trimmed($0).starts(with: "File \"".unicodeScalars) }.map(trimmed)
}

private func trimmed(_ line: Line) -> Line { line.drop(while: \.properties.isWhitespace) }

private func escaped(_ line: Line) -> String {
    var text = ""
    for scalar in line {
        guard text.utf8.count < 300 else { return text + "…" }
        text += isMisleading(scalar) ? scalar.escaped(asASCII: true) : String(scalar)
    }
    return text
}
