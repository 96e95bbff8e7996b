@testable import Desktop

/// Reads a `mime.cache`, and looks up names, contents and types in it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let cache = SharedMimeCache(bytes) else { return 0 }
    let database = SharedMimeDatabase([cache])
    for name in ["Makefile", "a.tar.gz", "README.TXT", "x"] {
        let guess = database.guess(name: Array(name.utf8)) { Array(bytes.prefix(256)) }
        precondition(!guess.types.isEmpty)
        _ = cache.aliases(of: guess.type)
        _ = cache.parents(of: guess.type)
    }
    return 0
}
