internal import CLinux
internal import Glibc
public import SystemPackage

/// Why a path, or one step on the way to it, is not watched. All steps that can be watched still are.
public struct UnwatchedPath: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path, as given in ``PathWatch/paths``.
    public let path: String
    /// The system's error.
    ///
    /// For example, it is `.noSpace` if the user has no watches left, `.permissionDenied` if the user may not read the
    /// directory, and `.tooManySymbolicLinkLevels` if links form a circle.
    public let error: Errno

    /// The path and the error.
    public var description: String { "\(path): \(error)" }
}

/// Reports changes at a set of paths: in a directory, to a file, or on the way there.
///
/// A path need not exist. Until it does, the nearest existing directory above it is watched. Each step on the way is
/// watched too, including any symbolic link itself. So the watch notices when a path is moved, deleted, replaced or
/// redirected by a link, and follows the path to its new location. The contents of a subdirectory are not watched; add
/// it as a separate path.
///
/// The kernel reports changes (`inotify(7)`), so nothing is polled and nothing blocks. It does not report writes
/// through memory maps, changes by other machines on a network file system, or a file system that is mounted over a
/// directory.
///
/// Use a path watch only on the loop's thread. The loop keeps it alive until ``cancel()``.
public final class PathWatch {
    let descriptor: CInt
    private let onChange: () -> Void
    private var descriptorWatch: DescriptorWatch?
    private var watched = WatchedPaths()

    /// Creates a watch that has no paths yet. Call this on the loop's thread.
    ///
    /// - Parameters:
    ///   - loop: The event loop that calls `onChange`.
    ///   - onChange: Called on the loop's thread, once for all changes that the kernel has reported by then. A great
    ///     many changes are reported in several calls, so that the loop's other work gets its turn.
    /// - Throws: `.tooManyOpenFiles` if the process has no descriptor left or the user has no inotify instance left.
    public init(on loop: EventLoop, onChange: @escaping () -> Void) throws(Errno) {
        descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        self.onChange = onChange
        descriptorWatch = loop.watch(descriptor, for: .readable) { _ in self.readEvents() }
    }

    deinit {
        close(descriptor)
    }

    /// Directories and files to watch, as absolute paths.
    ///
    /// Set the paths before you read the files: a change that happens before the end of the assignment may not be
    /// reported. The cost grows with the number of added paths or, if a path is removed, with the number of all paths.
    public var paths: Set<String> = [] {
        didSet {
            guard paths != oldValue, descriptorWatch != nil else { return }
            guard paths.isSuperset(of: oldValue) else { return follow() }
            failures += watched.follow(adding: paths.subtracting(oldValue), with: descriptor)
        }
    }

    /// Paths that cannot be watched, as of the last change or assignment.
    public private(set) var failures: [UnwatchedPath] = []

    /// Ends the watch. No further changes are reported, and the kernel keeps no watches.
    public func cancel() {
        guard let descriptorWatch else { return }
        self.descriptorWatch = nil
        descriptorWatch.cancel()
        paths = []
        failures = []
        watched.removeAll(from: descriptor)
    }

    private func follow() {
        failures = watched.follow(paths, with: descriptor)
    }

    private func readEvents() {
        var hasChanged = false
        var mustFollow = false
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            // Read once in each turn of the loop, so that a program that writes without a pause cannot keep the loop
            // here. An error means that nothing is left to read, because the buffer has room for an event.
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            guard count > 0 else { return }
            var rest = UnsafeRawBufferPointer(buffer)[..<count]
            while let event = WatchEvent(removingFirstFrom: &rest) {
                let effect = watched.effect(of: event)
                hasChanged = hasChanged || effect != .none
                mustFollow = mustFollow || effect == .other
            }
        }
        if mustFollow { follow() }
        if hasChanged { onChange() }
    }
}

/// An event of inotify. It refers to the bytes of the read buffer, and is valid only as long as the buffer.
struct WatchEvent {
    let watch: CInt
    let mask: UInt32
    private let nameBytes: Slice<UnsafeRawBufferPointer>

    /// Whether the event is about an entry of the watched directory, not about the watched file or directory itself.
    var isAboutEntry: Bool { !nameBytes.isEmpty }

    /// The entry of the watched directory that the event is about.
    var name: FilePath.Component? {
        FilePath.Component(platformString: nameBytes.map(CChar.init(bitPattern:)) + [0])
    }

    /// Removes the first event from the bytes that were read.
    init?(removingFirstFrom bytes: inout Slice<UnsafeRawBufferPointer>) {
        let headerSize = MemoryLayout<inotify_event>.size
        guard bytes.count >= headerSize else { return nil }
        let header = UnsafeRawBufferPointer(rebasing: bytes).loadUnaligned(as: inotify_event.self)
        watch = header.wd
        mask = header.mask
        nameBytes = bytes.dropFirst(headerSize).prefix(Int(header.len))
        bytes = bytes.dropFirst(headerSize + Int(header.len))
    }
}
