internal import UserFiles

/// The bus names that service files declare for programs other than this system's handlers.
///
/// A service file may have any name, because only its key `Name` matters to the bus. A file that bears this system's
/// mark (``DBusServiceFile/handler``) belongs to a handler, and is left out.
public struct DBusServiceNames: Sendable {
    /// Another program's service file.
    public struct Service: Sendable, Hashable {
        /// The file's path.
        public let file: String
        /// The program and its arguments, without quotation marks.
        public let command: [String]
    }

    fileprivate struct Directory {
        let path: String
        var version: FileVersion?
        /// The declarations, by the files' names; `nil` for a file that declares no other program's name.
        var files: [String: Declaration?] = [:]
        /// Whether a file is left out or all are as they were before, because of a temporary error.
        var isStale = false
    }

    fileprivate struct Declaration: Hashable {
        let name: String
        let service: Service
    }

    private var directories: [Directory]
    private var services: [String: Service] = [:]
    fileprivate static let group = "D-BUS Service"

    /// Creates an empty set of names for the given directories, without reading them.
    ///
    /// - Parameter directories: the paths, in order of precedence; the user's own directory comes first.
    public init(in directories: [String] = []) {
        self.directories = directories.map { Directory(path: $0) }
    }

    /// Whether the last update could not read something because of a temporary error.
    package var isStale: Bool { directories.contains(where: \.isStale) }

    /// The service of another program that has this bus name; `nil` if there is none.
    public subscript(name: String) -> Service? { services[name] }

    /// Reads the directories that have changed, and in them only the new files. Blocks while it reads.
    ///
    /// - Parameters:
    ///   - isQuick: whether to leave out the user's own directory, which has a file for each handler.
    ///   - isHandler: whether a name is a handler's. A file with such a name in the user's own directory is assumed to
    ///     be the handler's and is not read until the next update.
    /// - Returns: whether the service for any name has changed.
    public mutating func update(isQuick: Bool = false, assuming isHandler: (String) -> Bool = { _ in false }) -> Bool {
        let now = currentTime()
        var hasRead = false
        for index in directories.indices.dropFirst(isQuick ? 1 : 0) {
            if directories[index].update(now: now, assuming: { index == 0 && isHandler($0) }) { hasRead = true }
        }
        guard hasRead else { return false }
        let before = services
        services = [:]
        for declaration in directories.flatMap(\.files.values).compactMap({ $0 }) {
            services[declaration.name] = services[declaration.name] ?? declaration.service
        }
        return services != before
    }
}

extension DBusServiceNames {
    /// Returns the program and the arguments in a service file; none if it cannot be read.
    static func command(inFile path: String) -> [String] {
        do {
            let bytes = try contents(ofFile: path, limit: DesktopFile.limit, followingLinks: true)
            return try command(of: KeyFile(bytes, groups: [group]))
        } catch {
            return []
        }
    }

    fileprivate static func command(of file: KeyFile) throws -> [String] {
        let command = try file.values(of: "Exec", in: group).last?.string() ?? ""
        return command.split { $0 == " " || $0 == "\t" || $0 == "\"" || $0 == "'" }.map(String.init)
    }
}

extension DBusServiceNames.Directory {
    /// - Returns: whether the directory was read.
    fileprivate mutating func update(now: Int64, assuming isHandler: (String) -> Bool) -> Bool {
        do throws(FileError) {
            let found = FileVersion(try status(of: path, followingLinks: true))
            guard version != found else { return false }
            version = found.isSettled(at: now) ? found : nil
            let names = (try names(inDirectory: path) ?? []).compactMap { String(validating: $0, as: UTF8.self) }
            var next: [String: DBusServiceNames.Declaration?] = [:]
            isStale = false
            for name in names where name.hasSuffix(".service") {
                if isHandler(String(name.dropLast(".service".count))) {
                    version = nil
                    continue
                }
                if let known = files[name] {
                    next[name] = .some(known)
                    continue
                }
                do throws(FileError) {
                    next[name] = .some(try DBusServiceNames.Declaration(ofFile: "\(path)/\(name)"))
                } catch {
                    // The next update reads this file, and no others.
                    version = nil
                    isStale = true
                }
            }
            files = next
        } catch {
            version = nil
            isStale = error.isTemporary
            // Nothing in the directory has changed, as far as is known.
            if isStale { return false }
            // If a directory cannot be read, the bus gets no services from it either.
            files = [:]
        }
        return true
    }
}

extension DBusServiceNames.Declaration {
    /// Reads a service file; `nil` if it is not one, or belongs to a handler.
    ///
    /// - Throws: only a temporary error.
    fileprivate init?(ofFile path: String) throws(FileError) {
        let group = DBusServiceNames.group
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try contents(ofFile: path, limit: DesktopFile.limit, followingLinks: true)
        } catch {
            if error.isTemporary { throw error }
            return nil
        }
        do {
            let file = KeyFile(bytes, groups: [group])
            guard let name = try file.values(of: "Name", in: group).last?.string(),
                try file.values(of: DesktopEntry.handlerKey, in: group).last?.string() != name
            else { return nil }
            self.name = name
            service = DBusServiceNames.Service(file: path, command: try DBusServiceNames.command(of: file))
        } catch {
            return nil
        }
    }
}
