internal import ByteCoding
internal import Glibc
internal import UserFiles

/// An open `mimeinfo.cache` file, which can be copied with some lines changed.
///
/// `update-desktop-database` writes a heading and then one line for each type, sorted by the types' bytes. So a binary
/// search can find a type's line while reading only a few kilobytes of a file that may be several megabytes long and
/// contain 100,000 types. The copy is made in pieces, only one of which is in memory at a time, because allocating
/// memory for the whole file would take longer than copying it.
///
/// Any file can be opened, but if it is not in order, the search may miss a type's line.
final class MimeCacheFile {
    /// The file's identity and state when it was opened.
    let version: FileVersion

    /// A change to the file: `line` replaces the bytes in `range`.
    ///
    /// If the range is empty, this inserts the line; if the line is empty, it removes the bytes.
    struct Edit {
        let range: Range<Int>
        let line: [UInt8]
    }

    static let heading = Array("[MIME Cache]\n".utf8)

    private let descriptor: Int32
    private var size: Int { Int(version.size) }

    private static let newline = UInt8(ascii: "\n")
    private static let sign = UInt8(ascii: "=")
    private static let separator = UInt8(ascii: ";")

    /// Opens a file of at most `limit` bytes.
    init(_ path: String, limit: Int) throws(FileError) {
        let (descriptor, status) = try openFile(path, limit: limit, followingLinks: true)
        self.descriptor = descriptor
        version = FileVersion(status)
    }

    deinit { close(descriptor) }

    /// Reads the whole file.
    func contents() throws(FileError) -> [UInt8] {
        let contents = try read(0..<size)
        try checkVersion()
        return contents
    }

    /// Throws an error if the contents have changed since the file was opened.
    ///
    /// Some programs may write to the file in place. Most replace it, which does not change the open file, and which
    /// ``MimeInfoCache`` notices.
    private func checkVersion() throws(FileError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileError(code: errno) }
        guard FileVersion(status).hasContents(of: version) else { throw Self.changed }
    }

    static let changed = FileError("was changed while it was being read")

    /// Returns whether the contents look the way `update-desktop-database` writes them, down to the last line.
    static func areOrdered(_ contents: [UInt8]) -> Bool {
        guard contents.starts(with: heading) else { return false }
        return contents.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            var start = heading.count
            var last = start..<start
            while start < bytes.count {
                guard let sign = bytes[start...].firstIndex(where: { $0 <= 0x20 || $0 == sign }),
                    bytes[sign] == Self.sign,
                    bytes[start] != UInt8(ascii: "["), bytes[start] != UInt8(ascii: "#"),
                    let end = bytes[(sign + 1)...].firstIndex(where: { $0 < 0x20 }), bytes[end] == newline,
                    bytes[sign + 1] != UInt8(ascii: " ")
                else { return false }
                let order = memcmp(base + last.lowerBound, base + start, min(last.count, sign - start))
                guard order < 0 || order == 0 && last.count < sign - start else { return false }
                last = start..<sign
                start = end + 1
            }
            return true
        }
    }

    /// Returns whether the contents list exactly the types that each entry claims, and only files that exist.
    ///
    /// The contents must be in order. The file for an ID with an escape sequence is not checked.
    static func agree(
        _ contents: [UInt8],
        with entries: [DesktopEntry],
        isThere: (DesktopFileID) -> Bool
    ) -> Bool {
        // For each entry, its types in the order of the lines, and the number of types found so far.
        let claims = entries.map { $0.mimeTypes.sorted() }
        var counts = [Int](repeating: 0, count: entries.count)
        var positions: [String: Int] = [:]
        for (position, entry) in entries.enumerated() {
            positions[String(KeyFileText.strings([entry.id.rawValue]).dropLast())] = position
        }
        var start = heading.count
        while let end = contents[start...].firstIndex(of: newline) {
            let line = contents[start...end]
            let type = line.prefix { $0 != sign }
            for element in elements(of: line) {
                let name = String(decoding: element, as: UTF8.self)
                guard !name.hasTooManyMarks else { return false }
                if let position = positions[name] {
                    let count = counts[position]
                    guard count < claims[position].count, claims[position][count].utf8.elementsEqual(type) else {
                        return false
                    }
                    counts[position] += 1
                } else if let id = DesktopFileID(rawValue: name), !name.utf8.contains(UInt8(ascii: "\\")), !isThere(id)
                {
                    return false
                }
            }
            start = end + 1
        }
        return zip(claims, counts).allSatisfy { $0.count == $1 }
    }

    /// Returns the changes to make when an entry's claims have changed, in the file's order.
    func edits(
        noting id: DesktopFileID,
        claims types: Set<String>,
        insteadOf before: Set<String>
    ) throws(FileError) -> [Edit] {
        // `KeyFileText.strings` adds a separator after the ID.
        let element = Array(KeyFileText.strings([id.rawValue]).utf8).dropLast()
        var edits: [Edit] = []
        for type in types.union(before).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            let key = Array(type.utf8)
            let (range, line) = try line(of: key)
            var elements = Self.elements(of: line)
            let isThere = elements.contains { $0.elementsEqual(element) }
            guard types.contains(type) != isThere else { continue }
            if isThere {
                elements.removeAll { $0.elementsEqual(element) }
            } else {
                let index = elements.firstIndex { element.lexicographicallyPrecedes($0) } ?? elements.endIndex
                elements.insert(element, at: index)
            }
            let value = elements.flatMap { $0 + [Self.separator] }
            edits.append(Edit(range: range, line: elements.isEmpty ? [] : key + [Self.sign] + value + [Self.newline]))
        }
        return edits
    }

    /// Returns the file's size after some changes, in bytes.
    func size(with edits: [Edit]) -> Int { edits.reduce(size) { $0 - $1.range.count + $1.line.count } }

    /// Writes the contents with some changes to another open file.
    func copy(to output: Int32, with edits: [Edit]) throws(FileError) {
        var pieces = Pieces(output: output)
        var position = 0
        for edit in edits {
            // Lines found in an unchanged file are in order. If these are not, the file has changed during the search.
            guard position <= edit.range.lowerBound else { throw Self.changed }
            try pieces.append(position..<edit.range.lowerBound, of: self)
            try pieces.append(edit.line)
            position = edit.range.upperBound
        }
        try pieces.append(position..<size, of: self)
        try pieces.write()
        try checkVersion()
    }

    /// A buffer that collects the output and writes it in pieces of equal size.
    ///
    /// Every piece except the last starts and ends at a multiple of its size, because the page cache can keep such a
    /// piece as one unit.
    private struct Pieces {
        let output: Int32
        /// A buffer of this size stays in the processor's cache between reading and writing.
        private var buffer = [UInt8](repeating: 0, count: 256 << 10)
        private var count = 0

        init(output: Int32) {
            self.output = output
        }

        mutating func append(_ range: Range<Int>, of file: MimeCacheFile) throws(FileError) {
            var rest = range
            while !rest.isEmpty {
                let part = rest.prefix(buffer.count - count)
                try file.read(part, into: &buffer, at: count)
                try take(part.count)
                rest = rest.dropFirst(part.count)
            }
        }

        mutating func append(_ bytes: [UInt8]) throws(FileError) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = rest.prefix(buffer.count - count)
                buffer.replaceSubrange(count..<count + part.count, with: part)
                try take(part.count)
                rest = rest.dropFirst(part.count)
            }
        }

        private mutating func take(_ added: Int) throws(FileError) {
            count += added
            if count == buffer.count { try write() }
        }

        /// Writes the bytes collected so far.
        mutating func write() throws(FileError) {
            try UserFiles.write(buffer[..<count], to: output)
            count = 0
        }
    }

    /// Returns a type's line. If there is none, returns no bytes and the position where it would be.
    private func line(of type: [UInt8]) throws(FileError) -> (range: Range<Int>, bytes: ArraySlice<UInt8>) {
        var bounds = min(Self.heading.count, size)..<size
        while !bounds.isEmpty {
            let (range, bytes) = try line(at: (bounds.lowerBound + bounds.upperBound) / 2, in: bounds)
            let key = bytes.prefix { $0 != Self.sign }
            if type.elementsEqual(key) { return (range, bytes) }
            bounds =
                type.lexicographicallyPrecedes(key)
                ? bounds.lowerBound..<range.lowerBound : range.upperBound..<bounds.upperBound
        }
        return (bounds, [])
    }

    /// Returns the line around the byte at `position`. The range `bounds` has to start and end at line boundaries.
    private func line(
        at position: Int,
        in bounds: Range<Int>
    ) throws(FileError) -> (range: Range<Int>, bytes: ArraySlice<UInt8>) {
        var reach = 256
        while true {
            let window = (position - reach..<position + reach).clamped(to: bounds)
            let bytes = try read(window)
            let middle = position - window.lowerBound
            let last = bytes[..<middle].lastIndex(of: Self.newline)
            let next = bytes[middle...].firstIndex(of: Self.newline)
            if last != nil || window.lowerBound == bounds.lowerBound,
                next != nil || window.upperBound == bounds.upperBound
            {
                let line = bytes[(last.map { $0 + 1 } ?? 0)..<(next.map { $0 + 1 } ?? bytes.endIndex)]
                return (window.lowerBound + line.startIndex..<window.lowerBound + line.endIndex, line)
            }
            reach *= 8
        }
    }

    /// Returns the IDs in a line, including their escape sequences.
    private static func elements(of line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var elements: [ArraySlice<UInt8>] = []
        var start = line.firstIndex(of: sign).map { $0 + 1 } ?? line.endIndex
        var isEscaped = false
        for position in start..<line.endIndex {
            let byte = line[position]
            if byte == newline || byte == separator && !isEscaped {
                if start < position { elements.append(line[start..<position]) }
                start = position + 1
            }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return elements
    }

    private func read(_ range: Range<Int>) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        try read(range, into: &bytes, at: 0)
        return bytes
    }

    /// Reads a range of the file into a buffer, starting at `place`. The buffer must be large enough.
    private func read(_ range: Range<Int>, into buffer: inout [UInt8], at place: Int) throws(FileError) {
        var done = 0
        while done < range.count {
            let count = buffer.withUnsafeMutableBytes { buffer in
                let start = buffer.baseAddress.map { $0 + place + done }
                return pread(descriptor, start, range.count - done, off_t(range.lowerBound + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(code: errno) }
            guard count > 0 else { throw Self.changed }
            done += count
        }
    }
}
