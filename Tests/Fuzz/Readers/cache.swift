import ByteCoding

@testable import SchemeRegistry

/// Reads the cache's form of a manifest, behind its checksum.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    guard let reading = read(bytes) else { return 0 }
    var writer = ByteWriter()
    reading.write(to: &writer)
    let again = writer.bytes.withUnsafeBytes { read($0) }
    precondition(again == reading)
    return 0
}

private func read(_ bytes: UnsafeRawBufferPointer) -> ManifestReading? {
    var reader = ByteReader(bytes)
    do throws(ByteReader.Mismatch) {
        let reading = try ManifestReading(from: &reader)
        try reader.end()
        return reading
    } catch {
        return nil
    }
}
