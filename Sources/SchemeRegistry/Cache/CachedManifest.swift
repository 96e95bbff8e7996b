internal import ByteCoding
internal import UserFiles

/// The contents of a manifest's file, and the version of the file that was read.
struct CachedManifest: Sendable, Hashable {
    let version: FileVersion
    let reading: ManifestReading

    init(version: FileVersion, reading: ManifestReading) {
        self.version = version
        self.reading = reading
    }

    /// Returns the bytes that the cache keeps for a path: a checksum, the version, and the manifest.
    ///
    /// The checksum also covers the path and the writer, so a row that belongs to another path or another build counts
    /// as damaged.
    func encoded(path: String, writer: String) -> [UInt8] {
        var body = ByteWriter()
        for number in [version.device, version.inode] { body.write(number) }
        for number in [version.size, version.modified, version.changed] { body.write(number) }
        reading.write(to: &body)
        let checksum = unsafe body.bytes.withUnsafeBytes { unsafe Checksum(writer, path, $0).value }
        return unsafe withUnsafeBytes(of: checksum.littleEndian, Array.init) + body.bytes
    }

    /// Reads bytes from ``encoded(path:writer:)``; nil for any other bytes.
    init?(bytes: UnsafeRawBufferPointer, path: String, writer: String) {
        let size = MemoryLayout<UInt64>.size
        guard bytes.count >= size else { return nil }
        let body = unsafe UnsafeRawBufferPointer(rebasing: bytes.dropFirst(size))
        let expected = unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        guard unsafe Checksum(writer, path, body).value == expected else { return nil }
        var reader = unsafe ByteReader(body)
        do throws(ByteReader.Mismatch) {
            version = FileVersion(
                device: try reader.unsigned(),
                inode: try reader.unsigned(),
                size: try reader.signed(),
                modified: try reader.signed(),
                changed: try reader.signed()
            )
            reading = try ManifestReading(from: &reader)
            try reader.end()
        } catch {
            return nil
        }
    }
}

extension Checksum {
    /// Computes the checksum of two strings and a row's bytes.
    fileprivate init(_ writer: String, _ path: String, _ body: UnsafeRawBufferPointer) {
        self.init()
        for text in [writer, path] {
            var text = text
            text.withUTF8 { unsafe addCounted(UnsafeRawBufferPointer($0)) }
        }
        unsafe addCounted(body)
    }
}
