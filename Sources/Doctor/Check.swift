/// One check. A new check is a file, and a line in ``Examination/checks``.
protocol Check: Examiner {
    /// Adds the facts that the check establishes to those of the checks before it.
    func perform(_ findings: inout Findings)
}
