internal import Glibc
public import SystemPackage

/// Tells that something changed at one of a set of paths: in a directory, of a file, or on the way there.
///
/// A path need not exist: the nearest directory above it is watched until it does. Each step on the way is watched as
/// well, links themselves included, so that a path which is moved away, deleted, replaced, or led elsewhere by a link
/// is noticed, and followed to where it leads from then on. What is in a subdirectory is a path of its own.
///
/// The kernel reports (`inotify(7)`); nothing is asked for again and again, and nothing waits. It does not tell of writing
/// through memory maps, of changes that other machines make on a network's file system, and of a file system that is
/// mounted over a directory.
///
/// All of it belongs to the loop's thread. The loop keeps the watch alive until ``cancel()``.
public final class PathWatch {
    /// Why a path, or one step on the way to it, is not watched; what can be, still is.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The path, as it was asked for.
        public let path: String
        /// What the system answered: `.noSpace` when the user has no watches left, `.permissionDenied` for a directory that
        /// may not be read, `.tooManySymbolicLinkLevels` for links in a circle.
        public let error: Errno

        /// The path and the reason.
        public var description: String { "\(path): \(error)" }
    }

    let descriptor: CInt
    private let onChange: () -> Void
    private var descriptorWatch: DescriptorWatch?
    private var watched = WatchedPaths()

    /// Makes a watch of no path yet. Call it on the loop's thread.
    ///
    /// - Parameter onChange: called on the loop's thread, once for all changes that the kernel has reported by then.
    /// - Throws: `.tooManyOpenFiles` when the process has no descriptor left or the user no instance of inotify.
    public init(on loop: EventLoop, onChange: @escaping () -> Void) throws(Errno) {
        descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        self.onChange = onChange
        descriptorWatch = loop.watch(descriptor, for: .readable) { _ in self.readEvents() }
    }

    deinit {
        close(descriptor)
    }

    /// What is watched: absolute paths of directories and files.
    ///
    /// Set it before looking at what is there: a change from before the end of the assignment may go unreported.
    public var paths: Set<String> = [] {
        didSet {
            if paths != oldValue, descriptorWatch != nil { follow() }
        }
    }

    /// What cannot be watched, as of the last change or assignment.
    public private(set) var failures: [Failure] = []

    /// Ends the watch: nothing is reported from now on, and the kernel keeps nothing.
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
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                // Nothing left; another error does not exist for a buffer that holds an event.
                guard count > 0 else { return }
                var rest = UnsafeRawBufferPointer(buffer)[..<count]
                while let event = WatchEvent(removingFirstFrom: &rest) {
                    let effect = watched.effect(of: event)
                    hasChanged = hasChanged || effect != .none
                    mustFollow = mustFollow || effect == .other
                }
            }
        }
        if mustFollow { follow() }
        if hasChanged { onChange() }
    }
}

/// One event of inotify, as long as the bytes are there that it was read into.
struct WatchEvent {
    let watch: CInt
    let mask: UInt32
    private let nameBytes: Slice<UnsafeRawBufferPointer>

    /// Whether it is about an entry of the watched directory, not about what is watched itself.
    var isAboutEntry: Bool { !nameBytes.isEmpty }

    /// The entry of the watched directory that it is about.
    var name: FilePath.Component? {
        FilePath.Component(platformString: nameBytes.map(CChar.init(bitPattern:)) + [0])
    }

    /// Takes the first event off what was read.
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
