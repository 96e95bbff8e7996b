/// The problems in one file, up to a limit, because a hostile file can have one on each line.
package struct Problems {
    /// The path of the file.
    package let file: String
    private var found: [Diagnostic] = []
    private var count = 0

    /// Number of problems that are reported one by one.
    package static let limit = 20

    /// Creates an empty collection of a file's problems.
    package init(file: String) {
        self.file = file
    }

    /// Adds a problem or, once the limit is reached, only counts it.
    package mutating func add(
        _ severity: Diagnostic.Severity,
        _ key: String?,
        _ reason: String,
        _ kind: Diagnostic.Kind? = nil
    ) {
        count += 1
        // Reading stops at an error, so the error comes last and must be reported.
        guard found.count < Self.limit || severity == .error else { return }
        found.append(Diagnostic(severity: severity, kind: kind, file: file, key: key, reason: reason))
    }

    /// The problems in the order in which they were found. The last one says how many were left out.
    package var diagnostics: [Diagnostic] {
        guard count > found.count else { return found }
        let rest = Diagnostic(severity: .warning, file: file, reason: "has \(count - found.count) more problems")
        return found + [rest]
    }
}
