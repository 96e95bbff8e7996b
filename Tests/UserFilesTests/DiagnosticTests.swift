import Testing
import UserFiles

@Suite struct DiagnosticTests {
    @Test func diagnosticNamesFileKeyAndReason() {
        let problem = Diagnostic(severity: .error, file: "/a/b.desktop", key: "Exec", reason: "is missing")
        #expect(problem.description == "/a/b.desktop: Exec: is missing")
        #expect(Diagnostic(severity: .warning, file: "/a", reason: "is a FIFO").description == "/a: is a FIFO")
    }

    /// A file name can contain any character, so a diagnostic must not pass control characters of a name to a terminal.
    @Test func fileNameIsShownInPrintableASCII() {
        let problem = Diagnostic(severity: .error, file: "/\u{1B}[2J\u{202E}\n", reason: "is a device")
        #expect(problem.description == #"/\u{1B}[2J\u{202E}\n: is a device"#)
    }
}
