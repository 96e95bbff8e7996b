@testable import SiteProofs
@testable import WebLinks

/// Reads a text as a site's own file, and as its files for phones.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if let file = try? SiteFile(bytes, about: ["app"]) {
        precondition(file.entries.keys.allSatisfy { $0 == "app" })
        if case .success(let entry)? = file.entries["app"] {
            precondition(!entry.paths.isEmpty || entry.apple != nil || entry.android != nil)
        }
    }
    for rules in [try? PhoneFiles.appleRules(bytes, for: "app"), try? PhoneFiles.androidRules(bytes, for: "app")] {
        guard let rules = rules.flatMap({ PathRules($0) }) else { continue }
        precondition(PathRules(lines: rules.lines) == rules)
    }
    return 0
}
