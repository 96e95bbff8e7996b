internal import SchemeRegistry
internal import UserFiles

extension Registry {
    /// Problems with handlers, by their entries. An entry stands for the manifest, or for the bundle's files.
    var diagnosticsByEntry: [String: [Diagnostic]] {
        let entries = Set(handlers.map(\.entry))
        var problems: [String: [Diagnostic]] = [:]
        for diagnostic in diagnostics {
            var path = diagnostic.file
            while !entries.contains(path), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
                path = String(path[..<slash])
            }
            problems[path, default: []].append(diagnostic)
        }
        return problems
    }
}
