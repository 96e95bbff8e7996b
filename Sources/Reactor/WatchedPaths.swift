internal import Glibc
internal import SystemPackage

/// What inotify watches for a set of paths, and why.
///
/// Each path is walked from the root, following links by hand. First an entry is watched, then it is looked at, so that
/// nothing falls between. An entry reports its own end by itself, which spares the noise of busy directories on the way,
/// such as a home directory or `/tmp`. Three cases need its directory: an entry that is not there yet, one that may not be
/// read, and a directory that is removed while somebody has it open, of which it says nothing itself. A directory can be
/// removed only when it is empty, so for the last it is enough to watch where the walk ends.
struct WatchedPaths {
    /// What a change means.
    enum Effect {
        /// Nothing: it is of no concern.
        case none
        /// What is at a path has changed.
        case content
        /// A path may lead elsewhere.
        case other
    }

    private struct Watch {
        /// A path ends here.
        var isEnd = false
        /// The entries whose coming, going or replacement matters.
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

    /// How many links one path may lead through, as for the kernel.
    private static let maximumLinks = 40
    /// How often a path is walked again when it changes meanwhile; if it still does, its events tell.
    private static let maximumAttempts = 3

    /// Takes up paths, and gives up what is watched for others.
    ///
    /// - Returns: what cannot be watched.
    mutating func follow(_ paths: Set<String>, with inotify: CInt) -> [PathWatch.Failure] {
        let before = watches
        (watches, descriptors, entries) = ([:], [:], [:])
        var failures: [PathWatch.Failure] = []
        for path in paths.sorted() {
            do throws(Errno) {
                var attempts = 1
                while try !walk(FilePath(path), with: inotify), attempts < Self.maximumAttempts {
                    attempts += 1
                    entries = [:]
                }
            } catch {
                failures.append(PathWatch.Failure(path: path, error: error))
            }
        }
        // What has been deleted has no watch any more, which the kernel says again here.
        for descriptor in before.keys where watches[descriptor] == nil { inotify_rm_watch(inotify, descriptor) }
        (descriptors, entries) = ([:], [:])
        return failures
    }

    /// Gives up everything.
    mutating func removeAll(from inotify: CInt) {
        for descriptor in watches.keys { inotify_rm_watch(inotify, descriptor) }
        watches = [:]
    }

    /// Says what an event means.
    mutating func effect(of event: WatchEvent) -> Effect {
        let mask = CInt(bitPattern: event.mask)
        // Some events were dropped, and nobody knows which.
        if mask & IN_Q_OVERFLOW != 0 { return .other }
        // Otherwise it is one that was given up, which had more to say.
        guard let watch = watches[event.watch] else { return .none }
        if mask & IN_IGNORED != 0 { watches[event.watch] = nil }
        guard event.isAboutEntry else { return mask & IN_MODIFY != 0 ? .content : .other }
        if !watch.names.isEmpty, let name = event.name, watch.names.contains(name) { return .other }
        return watch.isEnd ? .content : .none
    }

    /// Watches each step of a path, as far as it exists.
    ///
    /// - Returns: whether it stayed the same all the while.
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
                // It may have come while its directory was not watched yet.
                entries[next] = nil
                guard case .missing = try look(at: next, with: inotify) else { return false }
                return true
            }
        }
        return try watchEnd(current, Self.ending, name: nil, with: inotify)
    }

    /// Watches where a walk ends.
    ///
    /// - Returns: whether it is still there.
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
                // Then its removal is noticed unless somebody has it open.
            }
        }
        guard let descriptor = try add(path, mask, name: name, with: inotify) else { return false }
        if name == nil { watches[descriptor]?.isEnd = true }
        return true
    }

    /// Watches an entry itself, then sees what it is.
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

    /// Has an entry's directory report what happens to it.
    private mutating func watchUnreadable(_ path: FilePath, with inotify: CInt) throws(Errno) {
        do throws(Errno) {
            _ = try add(path.removingLastComponent(), Self.unreadable, name: path.lastComponent, with: inotify)
        } catch .permissionDenied {
            // Who may read neither of the two does not learn that the entry is replaced.
        }
    }

    private func kind(of path: FilePath) throws(Errno) -> Entry {
        // A target has less than PATH_MAX bytes, so a NUL is left at its end.
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = path.withPlatformString { readlink($0, &buffer, buffer.count - 1) }
        if count >= 0 { return .link(FilePath(platformString: buffer)) }
        switch Errno(rawValue: errno) {
        // What readlink answers for all that is no link.
        case .invalidArgument: return .other
        case .noSuchFileOrDirectory, .notDirectory: return .missing
        case let error: throw error
        }
    }

    /// Adds to what is watched at a path, where a link stands for itself.
    ///
    /// - Returns: nil if there is nothing.
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
        // Another path led to the same file before, whose mask has just been replaced.
        if isNew, let other = watches[descriptor] { _ = call(other.mask | UInt32(IN_MASK_ADD)) }
        descriptors[path] = descriptor
        watches[descriptor, default: Watch()].mask |= mask
        if let name { watches[descriptor]?.names.insert(name) }
        return descriptor
    }
}
