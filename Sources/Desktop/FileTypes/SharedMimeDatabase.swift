internal import UserFiles

/// The types of files that the desktop knows: the shared MIME database of freedesktop.org.
///
/// It consists of the files `mime/mime.cache` in the data directories, the user's first. Its answers are the same as
/// GLib's (`g_content_type_guess`), which file managers and portals use, so that the router and the desktop agree about
/// a file.
public struct SharedMimeDatabase: Sendable {
    private let caches: [SharedMimeCache]

    /// Creates a database that knows no names and no contents.
    public init() {
        caches = []
    }

    /// Creates a database from the contents of caches, in order of precedence.
    init(_ caches: [SharedMimeCache]) {
        self.caches = caches
    }

    /// Reads the database. Blocks while it reads. A file that is missing or is not a cache has no effect.
    public init(loading directories: DesktopDirectories) {
        caches = directories.mimeCacheFiles.compactMap { path in
            do throws(FileError) {
                let bytes = try contents(ofFile: path, limit: SharedMimeCache.limit, followingLinks: true)
                return SharedMimeCache(bytes)
            } catch {
                return nil
            }
        }
    }

    // MARK: The type of a file

    /// Number of bytes at the beginning of a file that may determine its type.
    public var extent: Int {
        min(max(Self.textExtent, caches.map(\.magicExtent).max() ?? 0), Self.largestExtent)
    }

    private static let largestExtent = 64 << 10
    /// Number of bytes that must be text in a text file, as in GLib.
    private static let textExtent = 4096

    /// The lowest priority at which a file's contents count more than its name (Shared MIME-info Specification,
    /// "Recommended checking order").
    private static let decisivePriority = 80

    /// Returns the type of a regular file.
    ///
    /// If the name leads to a single type, the name decides. Otherwise, the contents decide, or choose among the types
    /// for the name.
    ///
    /// - Parameters:
    ///   - name: the file's name as bytes, without its directory.
    ///   - contents: returns the first ``extent`` bytes of the file; called only if the name does not decide.
    public func guess(name: [UInt8], contents: () -> [UInt8]) -> FileTypeGuess {
        let named = types(ofName: name)
        if named.count == 1 { return guess(named[0], isByName: true) }
        let data = contents()
        let sniffed = type(ofContents: data)
        guard !named.isEmpty else { return guess(sniffed?.type ?? .octetStream, isByName: false) }
        if let sniffed {
            if sniffed.priority >= Self.decisivePriority { return guess(sniffed.type, isByName: false) }
            let type = named.first { isSubclass($0, of: sniffed.type) }
            if let type { return guess(type, isByName: true) }
        }
        return guess(named[0], isByName: true)
    }

    /// Returns a type that you already know, with its wider types.
    ///
    /// - Parameter isByName: whether the file's name leads to the type.
    public func guess(_ type: MimeType, isByName: Bool) -> FileTypeGuess {
        FileTypeGuess(type: canonical(type), types: lineage(of: type), isByName: isByName)
    }

    private func type(ofContents data: [UInt8]) -> (type: MimeType, priority: Int)? {
        var best: (type: MimeType, priority: Int)?
        for cache in caches {
            guard let match = cache.type(ofContents: data), match.priority > best?.priority ?? 0 else { continue }
            best = match
        }
        guard let best else { return isText(data.prefix(Self.textExtent)) ? (.plainText, 0) : nil }
        // A desktop entry starts a program, so a file counts as one only if it has a desktop entry's name.
        return best.type.rawValue == "application/x-desktop" ? (.plainText, best.priority) : best
    }

    /// Returns whether bytes have no control characters except white space, backspaces and DEL, as in GLib.
    private func isText(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.allSatisfy { $0 >= 0x20 || (0x08...0x0D).contains($0) && $0 != 0x0B }
    }

    // MARK: Names

    /// Returns the types for files with this name, those with the greatest weight first.
    func types(ofName name: [UInt8]) -> [MimeType] {
        let lower = name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        func first(_ find: (SharedMimeCache, [UInt8], Bool) -> [SharedMimeCache.NameMatch]) -> [MimeType]? {
            for (name, matchingCase) in [(lower, false), (name, true)] {
                let matches = caches.flatMap { find($0, name, matchingCase) }
                guard !matches.isEmpty else { continue }
                var seen: Set<MimeType> = []
                return matches.enumerated()
                    .sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
                    .map(\.element.type)
                    .filter { seen.insert($0).inserted }
            }
            return nil
        }
        return first { $0.types(ofLiteral: $1, matchingCase: $2) } ?? first { $0.types(ofSuffix: $1, matchingCase: $2) }
            ?? first { $0.types(ofPattern: $1, matchingCase: $2) } ?? []
    }

    // MARK: Relations

    /// Returns the current name of a type.
    public func canonical(_ type: MimeType) -> MimeType {
        caches.lazy.compactMap { $0.canonical(type) }.first ?? type
    }

    private func parents(of type: MimeType) -> [MimeType] {
        var seen: Set<MimeType> = []
        return caches.flatMap { $0.parents(of: type) }.map(canonical).filter { seen.insert($0).inserted }
    }

    /// Returns a type, its old names, and then the wider types, the nearest first.
    func lineage(of type: MimeType) -> [MimeType] {
        let own = canonical(type)
        var types = [own]
        var next = 0
        while next < types.count, types.count < Self.longestLineage {
            for parent in parents(of: types[next]) where !types.contains(parent) { types.append(parent) }
            next += 1
        }
        // Types without other parents have these two (Shared MIME-info Specification, "Subclassing").
        types.removeAll { $0 == .octetStream && own != .octetStream }
        if types.contains(where: \.isText), !types.contains(.plainText) { types.append(.plainText) }
        if !own.isInode, !types.contains(.octetStream) { types.append(.octetStream) }
        types.insert(contentsOf: caches.flatMap { $0.aliases(of: own) }.filter { !types.contains($0) }, at: 1)
        return types
    }

    private static let longestLineage = 64

    private func isSubclass(_ type: MimeType, of base: MimeType) -> Bool { lineage(of: type).contains(canonical(base)) }
}

/// A file's type.
public struct FileTypeGuess: Sendable, Hashable {
    /// The type, under its current name.
    public let type: MimeType
    /// The type, its old names, and then the wider types, the nearest first.
    public let types: [MimeType]
    /// Whether the file's name, and not only its contents, leads to the type.
    public let isByName: Bool

    /// Creates a type without relations.
    public init(type: MimeType, types: [MimeType]? = nil, isByName: Bool) {
        self.type = type
        self.types = types ?? [type]
        self.isByName = isByName
    }
}
