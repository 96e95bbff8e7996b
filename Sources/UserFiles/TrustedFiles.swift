internal import Glibc

/// Reads a regular file of limited size that decides what programs may do.
///
/// The file and its directory belong to the user or to root, and no other user may write to them. A link is followed: the rules
/// are for the file that the link leads to.
///
/// - Parameter limit: the largest size in bytes.
/// - Throws: the reason, with what to do, worded to follow the path.
package func contents(ofTrustedFile path: String, limit: Int) throws(FileError) -> [UInt8] {
    try checkTrust(status(of: parentDirectory(of: path), followingLinks: true), parentDirectory(of: path))
    let (descriptor, status) = try openFile(path, limit: limit, followingLinks: true)
    defer { close(descriptor) }
    try checkTrust(status, path)
    return try contents(of: descriptor, size: Int(status.st_size), limit: limit)
}

/// Checks that a file or directory belongs to the user or to root, and that no other user may write to it.
private func checkTrust(_ status: stat, _ path: String) throws(FileError) {
    let kind = status.st_mode & S_IFMT == S_IFDIR ? "its directory " : ""
    guard [0, getuid()].contains(status.st_uid) else {
        throw FileError("is not used: \(kind)belongs to another user; make it yours or root's")
    }
    guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
        throw FileError(
            "is not used: other users may change \(kind.isEmpty ? "it" : "its directory"); run 'chmod go-w \(printable(path))'"
        )
    }
}
