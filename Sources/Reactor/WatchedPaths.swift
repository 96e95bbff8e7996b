internal import CLinux
internal import Glibc
internal import SystemPackage

/// The inotify watches for a set of paths.
///
/// Each path is walked from the root, following links step by step. At each step the entry is first watched and then
/// inspected, so that no change between the two is lost.
///
/// An entry reports its own removal or replacement. So the directories on the way are not watched for changes to their
/// entries; there would be many such changes in a home directory or in `/tmp`. The kernel still reports when the
/// attributes of their entries change, because it cannot tell these from the directory's own. In three cases, the directory of an
/// entry does have to be watched:
///
/// - An entry that does not exist yet.
/// - An entry that this user may not read.
/// - A directory that is removed while another process has it open, because it reports nothing itself. Since only an
///   empty directory can be removed, it is enough to watch the directory above the end of the walk.
struct WatchedPaths {
    /// The effect of a change.
    enum Effect {
        /// It does not matter.
        case none
        /// The content at a path has changed.
        case content
        /// A path may lead elsewhere.
        case other
    }

    private struct Watch {
        /// Whether a path ends here.
        var isEnd = false
        /// Entries whose creation, removal or replacement matters.
        var names: Set<FilePath.Component> = []
        var mask: UInt32 = 0
    }

    private enum Entry {
        case missing
        case link(FilePath)
        case other
    }

    private var watches: [CInt: Watch] = [:]
    private var descriptors: [FilePath: CInt] = [:]
    private var entries: [FilePath: Entry] = [:]

    private static let itself = IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
    private static let ending = itself | IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO
    private static let appearing = itself | IN_CREATE | IN_MOVED_TO
    private static let removing = itself | IN_DELETE
    private static let unreadable = itself | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO

    /// Number of links that one path may lead through, the same as for the kernel.
    private static let maximumLinks = 40
    /// Number of times to walk a path that keeps changing. After the last attempt, the events of the changes lead to
    /// another walk.
    private static let maximumAttempts = 3

    /// Watches these paths, and removes the watches that are no longer needed.
    ///
    /// - Returns: The paths that cannot be watched.
    mutating func follow(_ paths: Set<String>, with inotify: CInt) -> [UnwatchedPath] {
        let before = watches
        watches = [:]
        let failures = walk(paths, with: inotify)
        // The kernel has already removed the watch on a deleted file. Removing it again fails, which does no harm.
        for descriptor in before.keys where watches[descriptor] == nil { inotify_rm_watch(inotify, descriptor) }
        return failures
    }

    /// Watches more paths, and keeps the watches of all others as they are.
    ///
    /// - Returns: The added paths that cannot be watched.
    mutating func follow(adding paths: Set<String>, with inotify: CInt) -> [UnwatchedPath] {
        walk(paths, with: inotify)
    }

    private mutating func walk(_ paths: Set<String>, with inotify: CInt) -> [UnwatchedPath] {
        (descriptors, entries) = ([:], [:])
        var failures: [UnwatchedPath] = []
        for path in paths.sorted() {
            do throws(Errno) {
                var attempts = 1
                while try !walk(FilePath(path), with: inotify), attempts < Self.maximumAttempts {
                    attempts += 1
                    entries = [:]
                }
            } catch {
                failures.append(UnwatchedPath(path: path, error: error))
            }
        }
        (descriptors, entries) = ([:], [:])
        return failures
    }

    /// Removes all watches.
    mutating func removeAll(from inotify: CInt) {
        for descriptor in watches.keys { inotify_rm_watch(inotify, descriptor) }
        watches = [:]
    }

    /// Returns an event's effect.
    mutating func effect(of event: WatchEvent) -> Effect {
        let mask = CInt(bitPattern: event.mask)
        // The kernel has dropped events, so any path may have changed.
        if mask & IN_Q_OVERFLOW != 0 { return .other }
        // Events of a removed watch may still be in the queue.
        guard let watch = watches[event.watch] else { return .none }
        if mask & IN_IGNORED != 0 { watches[event.watch] = nil }
        guard event.isAboutEntry else { return mask & IN_MODIFY != 0 ? .content : .other }
        if !watch.names.isEmpty, let name = event.name, watch.names.contains(name) { return .other }
        return watch.isEnd ? .content : .none
    }

    /// Watches each existing step of a path.
    ///
    /// - Returns: Whether the path stayed the same during the walk.
    private mutating func walk(_ path: FilePath, with inotify: CInt) throws(Errno) -> Bool {
        guard path.isAbsolute else { throw .invalidArgument }
        var current = FilePath("/")
        var rest = Array(path.components.reversed())
        var links = 0
        while let component = rest.popLast() {
            switch component.kind {
            case .currentDirectory: continue
            case .parentDirectory:
                current.removeLastComponent()
                continue
            case .regular: break
            }
            let next = current.appending(component)
            switch try look(at: next, with: inotify) {
            case .other: current = next
            case .link(let target):
                links += 1
                guard links <= Self.maximumLinks else { throw .tooManySymbolicLinkLevels }
                if target.isAbsolute { current = "/" }
                rest += target.components.reversed()
            case .missing:
                guard try watchEnd(current, Self.appearing, name: component, with: inotify) else { return false }
                // The entry may have been created before its directory was watched, so the cached result is not
                // reliable.
                entries[next] = nil
                guard case .missing = try look(at: next, with: inotify) else { return false }
                return true
            }
        }
        return try watchEnd(current, Self.ending, name: nil, with: inotify)
    }

    /// Watches the end of a walk.
    ///
    /// - Returns: Whether the end still exists.
    private mutating func watchEnd(
        _ path: FilePath,
        _ mask: CInt,
        name: FilePath.Component?,
        with inotify: CInt
    ) throws(Errno) -> Bool {
        if let last = path.lastComponent {
            do throws(Errno) {
                let parent = path.removingLastComponent()
                guard try add(parent, Self.removing, name: last, with: inotify) != nil else { return false }
            } catch .permissionDenied {
                // If the directory above cannot be watched, the removal is still noticed unless another process has the
                // entry open.
            }
        }
        guard let descriptor = try add(path, mask, name: name, with: inotify) else { return false }
        if name == nil { watches[descriptor]?.isEnd = true }
        return true
    }

    /// Watches an entry and returns its kind.
    private mutating func look(at path: FilePath, with inotify: CInt) throws(Errno) -> Entry {
        if let entry = entries[path] { return entry }
        do throws(Errno) {
            guard try add(path, Self.itself, name: nil, with: inotify) != nil else {
                entries[path] = .missing
                return .missing
            }
        } catch .permissionDenied {
            try watchUnreadable(path, with: inotify)
        }
        let entry = try kind(of: path)
        entries[path] = entry
        return entry
    }

    /// Watches an entry's directory, because the entry itself may not be read.
    private mutating func watchUnreadable(_ path: FilePath, with inotify: CInt) throws(Errno) {
        do throws(Errno) {
            _ = try add(path.removingLastComponent(), Self.unreadable, name: path.lastComponent, with: inotify)
        } catch .permissionDenied {
            // If neither the entry nor its directory may be read, a replacement of the entry goes unnoticed.
        }
    }

    private func kind(of path: FilePath) throws(Errno) -> Entry {
        // A link's target is shorter than PATH_MAX bytes, so the buffer always ends with a NUL.
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = path.withPlatformString { readlink($0, &buffer, buffer.count - 1) }
        if count >= 0 { return .link(FilePath(platformString: buffer)) }
        switch Errno(rawValue: errno) {
        // This error means that the path is not a link.
        case .invalidArgument: return .other
        case .noSuchFileOrDirectory, .notDirectory: return .missing
        case let error: throw error
        }
    }

    /// Adds events to the watch at a path. If the path is a link, this watches the link and not its target.
    ///
    /// - Returns: The watch descriptor; nil if nothing exists at the path.
    private mutating func add(
        _ path: FilePath,
        _ mask: CInt,
        name: FilePath.Component?,
        with inotify: CInt
    ) throws(Errno) -> CInt? {
        func call(_ mask: UInt32) -> CInt {
            path.withPlatformString { inotify_add_watch(inotify, $0, mask | UInt32(IN_DONT_FOLLOW)) }
        }
        let mask = UInt32(bitPattern: mask)
        let isNew = descriptors[path] == nil
        let descriptor = call(isNew ? mask : mask | UInt32(IN_MASK_ADD))
        guard descriptor >= 0 else {
            let error = Errno(rawValue: errno)
            if error == .noSuchFileOrDirectory || error == .notDirectory { return nil }
            throw error
        }
        // Another path has already led to the same file, and the call above has replaced the mask of that watch. Add
        // the earlier events again.
        if isNew, let other = watches[descriptor] { _ = call(other.mask | UInt32(IN_MASK_ADD)) }
        descriptors[path] = descriptor
        watches[descriptor, default: Watch()].mask |= mask
        if let name { watches[descriptor]?.names.insert(name) }
        return descriptor
    }
}
