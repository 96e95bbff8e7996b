internal import Glibc
internal import OpenURLBus
internal import RFC1808
internal import Translations

/// Arguments that refer to files. As in `xdg-open`, an argument without a scheme is a path.
///
/// An argument with a scheme is a URL, even if the working directory has a file with this name: otherwise, the contents
/// of a directory would decide what a URL means. You can refer to such a file by a path, as in `./x:y`.
extension CommandLineArgument {
    /// Whether the argument begins with a scheme and a colon (RFC 3986 section 3.1).
    package var hasScheme: Bool {
        guard let first = bytes.first, isLetter(first), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            return false
        }
        return bytes[..<colon].allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
    }

    /// Whether the argument can only be a path, because it has a slash and no scheme.
    package var isPath: Bool { !hasScheme && bytes.contains(UInt8(ascii: "/")) }

    /// Whether the argument has no scheme and refers to an existing file. Links are followed.
    package var namesFile: Bool {
        !hasScheme && exists
    }

    private var exists: Bool { !bytes.isEmpty && access(path, F_OK) == 0 }

    /// Adds a suggestion to a failure to open a URL: the path that was probably meant, because a file whose name
    /// contains a colon looks like a URL.
    package func suggestingPath(_ failure: CommandFailure) -> CommandFailure {
        let codes = [OpenURLError.Code.noHandler, .malformedURL].map(\.errorName)
        guard codes.contains(failure.name), hasScheme, exists else { return failure }
        let message = translated("\(failure.message); to open the file of this name, write './\(shown)'")
        return CommandFailure(failure.name, message, exitStatus: failure.exitStatus)
    }

    /// Returns the URL of the file that the argument refers to.
    ///
    /// This makes the path absolute. To resolve a `..`, it asks the file system: after a link, the path continues from
    /// the directory that the link points to. Every byte that has a special meaning in a URL is escaped, so any name
    /// works.
    ///
    /// - Throws: the failure if there is no such file, or no working directory.
    package func fileURL() throws(CommandFailure) -> String {
        guard namesFile else { throw CommandFailure(unusable: shown, errno) }
        var path = bytes
        if path.first != UInt8(ascii: "/") {
            guard let directory = getcwd(nil, 0) else { throw CommandFailure(unusable: shown, errno) }
            defer { free(directory) }
            var start = Self.bytes(of: directory)
            if start.last != UInt8(ascii: "/") { start.append(UInt8(ascii: "/")) }
            path = start + path
        }
        var parts = path.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
        if parts.contains(where: { $0.elementsEqual("..".utf8) }) {
            guard let resolved = realpath(self.path, nil) else { throw CommandFailure(unusable: shown, errno) }
            defer { free(resolved) }
            parts = Self.bytes(of: resolved).split(separator: UInt8(ascii: "/"))
        }
        return "file://" + (parts.isEmpty ? "/" : parts.map { "/" + $0.percentEscaped }.joined())
    }

    /// The bytes, followed by a NUL, as the C library expects them.
    private var path: [CChar] { bytes.map(CChar.init(bitPattern:)) + [0] }

    private static func bytes(of text: UnsafePointer<CChar>) -> [UInt8] {
        UnsafeBufferPointer(start: text, count: strlen(text)).map(UInt8.init(bitPattern:))
    }
}

private func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
