internal import Glibc

/// The program that the kernel starts for a script, named in its first line (execve(2), "Interpreter scripts").
package enum ScriptInterpreter: Hashable {
    case path(String)
    /// A name that `env` looks up on `PATH`.
    case nameOnPath(String)

    /// Reads a script's interpreter; nil if the file is not a script.
    package init?(ofFile path: String) {
        // This is all of the line that the kernel reads.
        guard let line = firstBytes(of: path, count: 256)?.split(separator: UInt8(ascii: "\n")).first,
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
        // The program's name follows options and variables (env(1)).
        guard let name = words.dropFirst().first(where: { !$0.hasPrefix("-") && !$0.contains("=") }) else { return nil }
        self = name.hasPrefix("/") ? .path(name) : .nameOnPath(name)
    }
}

private func firstBytes(of path: String, count: Int) -> [UInt8]? {
    do throws(FileError) {
        let descriptor = try openFile(path, limit: .max, followingLinks: true).descriptor
        defer { close(descriptor) }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = max(read(descriptor, buffer.baseAddress, count), 0)
        }
    } catch {
        // If a program may be started but not read, it is not a script.
        return nil
    }
}
