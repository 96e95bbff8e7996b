internal import UserFiles

/// What is known about a manifest's file: what it says, and in which version.
struct CachedManifest: Sendable, Hashable {
    let version: FileVersion
    let reading: ManifestReading

    init(version: FileVersion, reading: ManifestReading) {
        self.version = version
        self.reading = reading
    }

    /// The bytes that the cache keeps for a path: a checksum of all that follows, of the path, and of who wrote it; then
    /// the version, then the manifest.
    func encoded(path: String, writer: String) -> [UInt8] {
        var body = ByteWriter()
        for number in [version.device, version.inode] { body.write(number) }
        for number in [version.size, version.modified, version.changed] { body.write(number) }
        reading.write(to: &body)
        let checksum = body.bytes.withUnsafeBytes { Checksum(writer, path, $0).value }
        return withUnsafeBytes(of: checksum.littleEndian, Array.init) + body.bytes
    }

    /// Reads those bytes; nil if they are not the very ones that ``encoded(path:writer:)`` gave.
    init?(bytes: UnsafeRawBufferPointer, path: String, writer: String) {
        let size = MemoryLayout<UInt64>.size
        guard bytes.count >= size else { return nil }
        let body = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(size))
        let expected = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        guard Checksum(writer, path, body).value == expected else { return nil }
        var reader = ByteReader(body)
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

/// The 64-bit FNV-1a hash (<http://www.isthe.com/chongo/tech/comp/fnv/>) of texts and bytes, each after its length.
private struct Checksum {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    init(_ writer: String, _ path: String, _ body: UnsafeRawBufferPointer) {
        for text in [writer, path] {
            var text = text
            text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
        }
        add(body)
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { mix($0) }
        mix(bytes)
    }

    private mutating func mix(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
