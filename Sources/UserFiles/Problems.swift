/// The problems of one file, a limited number of them: a hostile file can have one on each line.
package struct Problems {
    package let file: String
    private var found: [Diagnostic] = []
    private var count = 0

    /// So many are reported one by one.
    package static let limit = 20

    package init(file: String) {
        self.file = file
    }

    package mutating func add(_ severity: Diagnostic.Severity, _ key: String?, _ reason: String) {
        count += 1
        // An error ends a file's reading, so it is the last, and the one to be seen.
        guard found.count < Self.limit || severity == .error else { return }
        found.append(Diagnostic(severity: severity, file: file, key: key, reason: reason))
    }

    /// The problems in the order in which they were found.
    package var diagnostics: [Diagnostic] {
        guard count > found.count else { return found }
        let rest = Diagnostic(severity: .warning, file: file, reason: "has \(count - found.count) more problems")
        return found + [rest]
    }
}
