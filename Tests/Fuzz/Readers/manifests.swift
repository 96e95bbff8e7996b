@testable import SchemeRegistry
@testable import UserFiles

/// Reads a manifest, checks it, and stores it in the cache's form.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let reading = ManifestReading(bytes: bytes)
    let errors = ManifestCheck.findings(in: bytes, of: "a.plist").filter { $0.severity == .error }
    switch reading {
    case .manifest: precondition(errors.isEmpty)
    case .invalid(let problems): precondition(!problems.isEmpty && !errors.isEmpty)
    }
    let version = FileVersion(device: 1, inode: 2, size: Int64(count), modified: 3, changed: 4)
    let row = CachedManifest(version: version, reading: reading)
    let written = row.encoded(path: "a.plist", writer: "fuzz")
    let again = written.withUnsafeBytes { CachedManifest(bytes: $0, path: "a.plist", writer: "fuzz") }
    precondition(again == row)
    return 0
}
