internal import CLinux
internal import Glibc
package import UserFiles

/// The directory of a share: its socket, and the program that the far side uses, under the names of the programs that it
/// stands for.
///
/// The directory is in the user's runtime directory, and only the user can reach it. It belongs to the process that has
/// locked it, so that what an ended process has left is never mistaken for a share.
package final class ShareDirectory {
    /// Why a share cannot have its directory.
    package enum Failure: Error {
        /// Another process has the share.
        case taken
        case unusable(FileError)
    }

    /// The path of the directory.
    package let path: String
    private let directory: PrivateDirectory

    /// A path of the open directory, for the programs that this process starts. It is short enough for the address of a
    /// socket in every runtime directory.
    package var pathForChildren: String { "/proc/\(getpid())/fd/\(directory.descriptor)" }

    /// The names of the files in each share.
    package static let socketName = "socket"
    package static let clientName = "openurl-remote"
    /// The socket of ssh's connection.
    package static let controlName = "control"
    package static let otherNames = ["openurl", "xdg-open", "sensible-browser", "x-www-browser", "www-browser"]

    /// The number of waiting connections that the kernel keeps.
    private static let backlog: CInt = 64
    /// Maximum size of the far side's program.
    private static let clientLimit = 16 << 20

    /// Takes a directory, and removes what an earlier process has left there.
    ///
    /// - Parameters:
    ///   - runtimeDirectory: `$XDG_RUNTIME_DIR`.
    ///   - place: the directory in `openurl` there, such as `shares/box`.
    package init(_ place: String, in runtimeDirectory: String) throws(Failure) {
        path = "\(runtimeDirectory)/openurl/\(place)"
        let depth = 1 + place.split(separator: "/").count
        do throws(FileError) {
            directory = try PrivateDirectory(path, depth: depth, isMade: true)
        } catch {
            throw .unusable(error)
        }
        guard flock(directory.descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .taken }
        removeFiles()
    }

    /// Creates the socket, which only the user may connect to.
    ///
    /// - Returns: the listening socket, which the caller owns.
    package func listen() throws(Failure) -> CInt {
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let socket = Glibc.socket(AF_UNIX, kind, 0)
        guard socket >= 0 else { throw .unusable(FileError(code: errno)) }
        // The file gets the descriptor's mode. Later, a container that may write here could put a link in its place.
        guard fchmod(socket, 0o600) == 0,
            Self.withAddress(of: directory.descriptor, { bind(socket, $0, $1) }) == 0,
            Glibc.listen(socket, Self.backlog) == 0
        else {
            let error = FileError(code: errno)
            close(socket)
            throw .unusable(error)
        }
        return socket
    }

    /// Puts the program for the far side into the directory.
    ///
    /// - Parameter program: the path of the installed `openurl-remote`.
    package func add(client program: String) throws(Failure) {
        do throws(FileError) {
            let bytes = try contents(ofFile: program, limit: Self.clientLimit, followingLinks: true)
            try directory.replace(Self.clientName, with: bytes, isProgram: true)
        } catch {
            throw .unusable(error)
        }
        for name in Self.otherNames {
            guard symlinkat(Self.clientName, directory.descriptor, name) == 0 else {
                throw .unusable(FileError(code: errno))
            }
        }
    }

    /// Removes the share's files, and the directory itself unless a container may have mounted it.
    package func remove(keepingDirectory: Bool) {
        removeFiles()
        if !keepingDirectory { rmdir(path) }
    }

    private func removeFiles() {
        let own = [Self.socketName, Self.controlName, Self.clientName, ".\(Self.clientName)"]
        for name in own + Self.otherNames {
            unlinkat(directory.descriptor, name, 0)
        }
    }
}

extension ShareDirectory {
    /// Removes the directories whose processes have ended without doing so.
    ///
    /// - Parameter beginning: the beginning of the directories' names.
    package static func removeAbandoned(_ beginning: String, in runtimeDirectory: String) {
        let names: [String]
        do throws(FileError) {
            names = try PrivateDirectory("\(runtimeDirectory)/openurl").names()
        } catch {
            // There is none.
            return
        }
        for name in names where name.hasPrefix(beginning) {
            do throws(Failure) {
                try ShareDirectory(name, in: runtimeDirectory).remove(keepingDirectory: false)
            } catch {
                // Its process still has it.
            }
        }
    }

    /// Returns the process that listens at the socket in a directory; nil if none does.
    package static func listener(at path: String) -> CInt? {
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let socket = Glibc.socket(
            AF_UNIX,
            CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue),
            0
        )
        guard socket >= 0 else { return nil }
        defer { close(socket) }
        guard withAddress(of: descriptor, { connect(socket, $0, $1) }) == 0 else { return nil }
        // This tuple has the layout of struct ucred, which Swift does not import.
        var credentials: (pid: CInt, uid: UInt32, gid: UInt32) = (0, 0, 0)
        var size = socklen_t(MemoryLayout.size(ofValue: credentials))
        guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0, credentials.uid == getuid() else {
            return nil
        }
        return credentials.pid
    }

    /// Calls a function with the address of the socket in an open directory. The directory cannot be replaced meanwhile,
    /// and the address is short enough for every runtime directory.
    private static func withAddress(
        of directory: CInt,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array("/proc/self/fd/\(directory)/\(socketName)".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
