internal import Desktop
internal import Glibc
internal import SchemeRegistry
internal import UserFiles

/// Publishes the handlers in one of the system's data directories, such as `/usr/share`, for all users.
///
/// This needs neither a bus nor a router. Packages and installations run it, so that the desktop can reach the handlers
/// even before the router runs for the first time.
struct SystemPublication: Hashable {
    /// The path of the data directory in the finished system.
    var directory = ""
    /// The directory that stands for `/` while a package is being built; otherwise empty.
    var root = ""
    /// Whether to remove all published files, even those of handlers that still exist.
    var isRemoval = false

    /// Reads the arguments after `--publish`; nil if they are wrong.
    init?(_ arguments: some Sequence<String>) {
        var arguments = Array(arguments)[...]
        while let argument = arguments.popFirst() {
            switch argument {
            case "--remove": isRemoval = true
            case "--root":
                guard let root = arguments.popFirst() else { return nil }
                self.root = root
            default:
                guard directory.isEmpty else { return nil }
                directory = argument
            }
        }
        guard directory.hasPrefix("/"), root.isEmpty || root.hasPrefix("/") else { return nil }
    }

    /// Writes and removes the files.
    ///
    /// - Parameter installation: the files installed with this program. The published files start its command. If the
    ///   program is below the root, the root is not part of the command's path.
    /// - Returns: the problems, and whether every file could be written or removed.
    func perform(with installation: Installation?) -> (problems: [String], isDone: Bool) {
        do throws(FileError) {
            guard let installation, let command = installation.command else {
                throw FileError("there is no openurl beside openurld")
            }
            // The installation's paths contain no links.
            let root = try root.isEmpty ? "" : resolvedPath(root)
            let staged = root == "/" ? "" : root
            let directory = "\(staged)\(directory)"
            let handlers = "\(directory)/\(RegistryDirectories.subdirectory)"
            _ = try resolvedPath(directory)
            // Without the manifests, all files would look as if their handlers no longer existed.
            if !isRemoval { _ = try names(inDirectory: handlers) }
            // The installation's own handlers decide about the schemes that belong to the system.
            let directories = isSame(handlers, installation.handlers) ? [handlers] : [handlers, installation.handlers]
            var places = RegistryDirectories(user: nil, system: directories)
            places.isStaged = !staged.isEmpty
            let all = Registry(loading: places)
            let published = isRemoval ? [] : all.publishedHandlers.filter { $0.precedence == 0 }
            // The files are for all users, no matter which mask the installing user has.
            umask(0o022)
            if !published.isEmpty { try makeDirectories(below: directory, in: staged) }
            let isBelowRoot = command.hasPrefix("\(staged)/")
            var publication = DesktopPublication(
                inDataDirectory: self.directory,
                of: staged,
                command: isBelowRoot ? String(command.dropFirst(staged.utf8.count)) : command
            )
            let applications = DesktopApplications(loading: DesktopDirectories(dataDirectory: directory))
            publication.publish(Registry(handlers: published, applications: applications))
            let problems = all.diagnostics.filter { $0.file.hasPrefix("\(handlers)/") }
            // An installation must not fail because of another program's manifest or entry.
            let isDone = publication.diagnostics.allSatisfy { $0.severity == .warning }
            return ((problems + publication.diagnostics).map { printableLine($0.description) }, isDone)
        } catch {
            return ([printableLine("\(root)\(directory): \(error.reason)")], false)
        }
    }

    private func isSame(_ directory: String, _ other: String) -> Bool {
        do throws(FileError) {
            return try resolvedPath(directory) == resolvedPath(other)
        } catch {
            return false
        }
    }

    /// Creates the directories for the published files. No link may lead from a package's root into the running system.
    private func makeDirectories(below directory: String, in root: String) throws(FileError) {
        for name in ["applications", "dbus-1/services"] {
            var place = "\(directory)/\(name)"
            while place != directory, !isPresent(place) { place = parentDirectory(of: place) }
            guard try "\(resolvedPath(place))/".hasPrefix("\(root)/") else {
                throw FileError("its directory \(name) is a link that leads out of \(root)")
            }
            do throws(DirectoryError) {
                try UserFiles.makeDirectories("\(directory)/\(name)", mode: 0o755)
            } catch {
                throw FileError("cannot create \(error.path): \(error.error)")
            }
        }
    }

    /// Returns whether a path has a file, a directory or a link, even one that leads nowhere.
    private func isPresent(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
