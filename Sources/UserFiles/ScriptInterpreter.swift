internal import Glibc

/// The program that the kernel starts for a script, as given in the script's first line (execve(2), "Interpreter
/// scripts").
package enum ScriptInterpreter: Hashable {
    case path(String)
    /// A name that `env` looks up on `PATH`.
    case nameOnPath(String)

    /// Reads a script's interpreter; nil if the file is not a script.
    package init?(ofFile path: String) {
        guard let head = firstBytes(of: path, count: Self.lineSize) else { return nil }
        self.init(head)
    }

    /// Reads a script's interpreter from the script's first bytes; nil if they are not the beginning of a script.
    init?(_ head: [UInt8]) {
        guard let line = head.prefix(Self.lineSize).split(separator: UInt8(ascii: "\n")).first,
            line.starts(with: "#!".utf8)
        else { return nil }
        let words = String(decoding: line.dropFirst(2), as: UTF8.self).split { $0 == " " || $0 == "\t" }.map(
            String.init
        )
        guard let first = words.first else { return nil }
        guard first.hasSuffix("/env") else {
            self = .path(first)
            return
        }
        var rest = words.dropFirst()
        // The kernel passes the rest of the line as one word, and `env` splits it only with an option (env(1)).
        if rest.first?.hasPrefix("-") != true { rest = [rest.joined(separator: " ")] }
        // The program's name follows options and variables.
        while let word = rest.first, word.hasPrefix("-") || word.contains("=") {
            rest = rest.dropFirst(["-u", "-C"].contains(word) ? 2 : 1)
        }
        guard let name = rest.first, !name.isEmpty else { return nil }
        self = name.hasPrefix("/") ? .path(name) : .nameOnPath(name)
    }

    /// The kernel reads this many bytes of the line.
    private static let lineSize = 256
}

/// Returns the first bytes of a file; nil if it cannot be read.
func firstBytes(of path: String, count: Int) -> [UInt8]? {
    do throws(FileError) {
        let descriptor = try openFile(path, limit: .max, followingLinks: true).descriptor
        defer { close(descriptor) }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = max(read(descriptor, buffer.baseAddress, count), 0)
        }
    } catch {
        // A program that may be started but not read is not a script.
        return nil
    }
}
