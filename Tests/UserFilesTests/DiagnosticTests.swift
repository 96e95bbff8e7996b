import Foundation
import TestSupport
import Testing
import UserFiles

@Suite struct DiagnosticTests {
    @Test func diagnosticNamesFileKeyAndReason() {
        let problem = Diagnostic(severity: .error, file: "/a/b.desktop", key: "Exec", reason: "is missing")
        #expect(problem.description == "/a/b.desktop: Exec: is missing")
        #expect(Diagnostic(severity: .warning, file: "/a", reason: "is a FIFO").description == "/a: is a FIFO")
    }

    @Test func lineKeepsEveryCharacterThatMisleadsNobody() {
        let plain = "\u{E9}\u{FEFF} \\ '\"' \u{1F600}"
        #expect(printableLine(plain) == plain)
        let text = "a\u{1B}[2J\r\n\u{85}\u{2028}\u{2029}\u{202E}\u{2066}\u{2069}\u{200E}\u{200F}\u{61C}\u{E9}"
        let escaped =
            #"a\u{1B}[2J\r\n\u{0085}\u{2028}\u{2029}\u{202E}\u{2066}\u{2069}\u{200E}\u{200F}\u{061C}"# + "\u{E9}"
        #expect(printableLine(text) == escaped)
    }

    /// A file name can contain any character, so a diagnostic must not pass control characters of a name to a terminal.
    @Test func fileNameIsShownInPrintableASCII() {
        let problem = Diagnostic(severity: .error, file: "/\u{1B}[2J\u{202E}\n", reason: "is a device")
        #expect(problem.description == #"/\u{1B}[2J\u{202E}\n: is a device"#)
    }

    /// Swift takes a quote with such a mark behind or in front of it for another character.
    @Test(arguments: ["it's", "a'\u{301}; touch x; '\u{301}b", "\u{600}'b"])
    func shellReadsAQuotedWordAsItIs(_ text: String) throws {
        let shell = ChildProcess()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", "printf %s \(quotedForShell(text))"]
        let output = Pipe()
        shell.standardOutput = output
        try shell.run()
        let read = try output.fileHandleForReading.readToEnd()
        shell.waitUntilExit()
        #expect(read == Data(text.utf8))
    }
}
