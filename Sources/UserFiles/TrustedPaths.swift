internal import Glibc

/// A check that only the user and the administrator can change a file that determines which program is started.
///
/// The rule is the same as for sshd's `StrictModes`: the file, and each directory above it up to the root, belongs to
/// the user or to root, and no other user may write to it. Links along the path are followed, and they too have to
/// belong to the user or to root.
///
/// There are two additions. A group may write if its number is the owner's, because it is then the owner's private
/// group. And the user's directory may be in one of root's sticky directories, such as `/tmp`, because no other user
/// can move it. But a file that is directly in such a directory is refused.
///
/// A value remembers the directories that it has checked, so use a new one for each round of checks.
package struct TrustedPaths: Sendable {
    /// Directories that have been checked, as the bytes of their paths.
    private var directories: Set<[UInt8]> = []

    /// Maximum number of links along a path, as in the kernel.
    private static let linkLimit = 40

    /// The users who may own and change the files.
    package enum Owners: Sendable {
        case userAndRoot
        case root
    }

    private let owners: Owners

    /// Creates a check that has not checked any directories.
    package init(owners: Owners = .userAndRoot) { self.owners = owners }

    /// Returns why a launch refuses a program: another user can change it. Nil if none can, or if there is no such program,
    /// which the start itself reports.
    ///
    /// - Parameter path: an absolute path.
    /// - Returns: the reason, worded to follow the path, with the command that corrects it.
    package static func distrust(ofProgram path: String) -> String? {
        do throws(FileError) {
            var paths = TrustedPaths()
            try paths.check(path)
            return nil
        } catch {
            return error.isAbsence ? nil : error.reason
        }
    }

    /// Checks a file or a directory.
    ///
    /// - Parameter path: an absolute path.
    /// - Throws: the reason, worded to follow the path, with the command that corrects it. The reason may also be that
    ///   the file does not exist or cannot be reached.
    package mutating func check(_ path: String) throws(FileError) {
        let parent = parentDirectory(of: path)
        // If the directory is known, one call is enough for anything except a link.
        if directories.contains(Array(parent.utf8)) {
            let found = try status(of: path, followingLinks: false)
            if found.st_mode & S_IFMT == S_IFREG { return try check(found, at: path, as: path) }
        }
        try walk(path)
    }

    private mutating func walk(_ path: String) throws(FileError) {
        var rest = Array(names(onPath: path).reversed())
        var place = ""
        var found = try status(of: "/", followingLinks: false)
        try check(found, at: "/", as: path)
        var links = 0
        while let name = rest.popLast() {
            if name == "." { continue }
            if name == ".." {
                // On the way down, the directory above has already been checked.
                place = parentDirectory(of: place)
                found = try status(of: place.isEmpty ? "/" : place, followingLinks: false)
                continue
            }
            let (above, aboveStatus) = (place, found)
            place += "/\(name)"
            found = try status(of: place, followingLinks: false)
            try check(found, at: place, as: path)
            switch found.st_mode & S_IFMT {
            case S_IFLNK:
                links += 1
                guard links <= Self.linkLimit else { throw FileError(code: ELOOP) }
                let target = try linkTarget(of: place)
                place = isAbsolute(target) ? "" : above
                found = aboveStatus
                rest += names(onPath: target).reversed()
            case S_IFDIR:
                continue
            default:
                guard !Self.isShared(aboveStatus) else {
                    let place = "is in \(above), where every user may create files"
                    throw FileError("\(place); move it to a directory of your own")
                }
            }
        }
        // Only if there are no links does the path consist of the directories that were checked.
        guard links == 0, place.utf8.elementsEqual(path.utf8), !Self.isShared(found) else { return }
        directories.insert(Array((found.st_mode & S_IFMT == S_IFDIR ? path : parentDirectory(of: path)).utf8))
    }

    /// Checks one of the files and directories along a path.
    private func check(_ found: stat, at place: String, as path: String) throws(FileError) {
        let subject = place == path ? "" : "is in \(quotedForShell(place)), which "
        let owner = owners == .root ? 0 : geteuid()
        guard found.st_uid == 0 || found.st_uid == owner else {
            let remedy = "chown \(owner) \(quotedForShell(place))"
            throw FileError("\(subject)belongs to the user \(found.st_uid); run `\(remedy)` as root")
        }
        guard found.st_mode & S_IFMT != S_IFLNK, !Self.isShared(found) else { return }
        let isOpenToAll = found.st_mode & S_IWOTH != 0
        let isOpenToGroup = found.st_mode & S_IWGRP != 0 && found.st_gid != found.st_uid
        guard isOpenToAll || isOpenToGroup else { return }
        let writers = isOpenToAll ? "every user" : "the group \(found.st_gid)"
        let classes = (isOpenToGroup ? "g" : "") + (isOpenToAll ? "o" : "")
        throw FileError("\(subject)can be changed by \(writers); run `chmod \(classes)-w \(quotedForShell(place))`")
    }

    /// Whether every user may create files in a directory, but only a file's owner may move it.
    private static func isShared(_ found: stat) -> Bool {
        found.st_mode & S_IFMT == S_IFDIR && found.st_mode & S_ISVTX != 0 && found.st_uid == 0
            && found.st_mode & (S_IWGRP | S_IWOTH) != 0
    }
}
