internal import SchemeRegistry

/// A check of one way to open the URLs of a scheme. A new one is a file, and a line in ``OpenersCheck/schemeChecks``.
protocol SchemeCheck: Examiner {
    /// Adds the facts that the check establishes to those of the checks before it.
    ///
    /// - Parameter expected: the handler or application that openurl chooses.
    func perform(_ scheme: Scheme, expected: String, _ findings: inout Findings)
}
