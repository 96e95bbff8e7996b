import ByteCoding

@testable import URLHandler

/// Reads a handler's saved state, behind its checksum.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard let value = read(UnsafeRawBufferPointer(start: start, count: count)) else { return 0 }
    var writer = ByteWriter()
    writer.write(value)
    let again = writer.bytes.withUnsafeBytes { read($0) }
    // A value that is not a number differs from itself.
    precondition(again == value || "\(value)".contains("nan"))
    _ = try? value.decoded(as: [String: [Int8]].self)
    return 0
}

private func read(_ bytes: UnsafeRawBufferPointer) -> ArchivedValue? {
    var reader = ByteReader(bytes)
    return try? reader.archivedValue()
}
