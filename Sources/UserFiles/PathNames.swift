/// Returns the names in a path, in order.
///
/// Like the kernel, every function here looks at bytes. To Swift, a slash with a combining mark after it is not a
/// slash, and strings with different bytes may be equal.
package func names(onPath path: String) -> [String] {
    path.utf8.split(separator: slash).map { String(Substring($0)) }
}

/// Returns whether a path begins at the root.
package func isAbsolute(_ path: some StringProtocol) -> Bool { path.utf8.first == slash }

/// Returns the directory that contains a file: the path up to its last slash, or an empty string for a file in the
/// root.
package func parentDirectory(of path: String) -> String {
    let bytes = path.utf8
    return String(Substring(bytes[..<(bytes.lastIndex(of: slash) ?? bytes.startIndex)]))
}

/// Returns an absolute path without doubled slashes and without slashes at the end.
package func normalizedPath(_ path: String) -> String { "/" + names(onPath: path).joined(separator: "/") }

/// Returns whether a resolved path is below a resolved directory.
package func isBelow(_ path: String, _ directory: String) -> Bool {
    path.utf8.starts(with: (directory == "/" ? "/" : directory + "/").utf8)
}

private let slash = UInt8(ascii: "/")
