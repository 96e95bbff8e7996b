import Foundation
import Glibc
import Processes
import TestSupport
import Testing

@testable import Doctor

@Suite(.timeLimit(.minutes(5))) struct RunningToolTests {
    private func output(_ script: String, _ environment: [String: String] = [:]) -> String? {
        text(RunningTool.run(["/bin/sh", "-c", script], environment: environment))
    }

    private func text(_ result: RunningTool.Result) -> String? {
        if case .output(let text) = result { text } else { nil }
    }

    @Test(
        arguments: [
            ("echo a", "a\n"), ("echo a >&2", "a\n"), ("echo a; echo b >&2", "a\nb\n"), (":", ""), ("printf a", "a"),
            ("printf 'a\\377'", "a\u{FFFD}"), ("exit 0", ""), ("echo a; exit 1", nil), ("exit 127", nil),
            ("kill -9 $$", nil), ("read line; echo $?", "1\n"), ("(echo a)", "a\n"), ("echo $NAME", "value\n"),
            ("echo $OTHER", "\n"),
        ] as [(String, String?)]
    )
    func outputOfASuccessIsReturned(_ script: String, _ expected: String?) {
        #expect(output(script, ["NAME": "value"]) == expected)
    }

    @Test func programThatDoesNotExistHasNoOutput() {
        #expect(RunningTool.run(["/nonexistent/program"], environment: [:]) == .failed)
        #expect(RunningTool.run([], environment: [:]) == .failed)
        #expect(RunningTool(["/tmp"], environment: [:]) == nil)
    }

    /// A program that writes without end takes no memory without end, and is ended.
    @Test(arguments: ["while :; do echo 0123456789012345678901234567890123456789; done", "exec sleep 600"])
    func programWithoutEndIsEnded(_ script: String) async {
        let start = ContinuousClock.now
        let result = await onThread {
            RunningTool.run(["/bin/sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"])
        }
        #expect(result == .hung)
        #expect(start.duration(to: .now) < .seconds(60))
    }

    /// `xdg-mime` is a script, and so are most tools of the desktop: what hangs is a program that they have started.
    @Test func childrenOfAHungProgramAreEnded() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "openurl-tool-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        let file = directory.appending(path: "pid")
        let script = "sleep 600 & echo $! >'\(file.path)'; wait"
        let result = await onThread {
            RunningTool.run(["/bin/sh", "-c", script], environment: ["PATH": "/usr/bin:/bin"])
        }
        #expect(result == .hung)
        let text = try String(contentsOf: file, encoding: .utf8)
        let pid = try #require(UInt32(text.trimmingCharacters(in: .newlines)))
        // The kernel ends it, and another process may still have to wait for it.
        try await eventually("\(pid)") { _ in ProcessProgram.path(pid: pid) == nil }
    }

    @Test func largeOutputIsCut() {
        let text = output("head -c 100000 /dev/zero | tr '\\0' a", ["PATH": "/usr/bin:/bin"])
        #expect(text?.utf8.count == 1 << 16)
    }

    @Test(
        arguments: [
            ("", nil), ("\\n\\n", nil), ("a", "a"), ("a\\n", "a"), ("a\\nb\\n\\n", "b"), ("a\\r\\nb", "b"),
            ("\\n a \\n", " a "),
        ] as [(String, String?)]
    )
    func lastLineIsTheReason(_ text: String, _ last: String?) throws {
        let tool = try #require(RunningTool(["/bin/sh", "-c", "printf '\(text)'"], environment: [:]))
        while !tool.isAtEnd { tool.read() }
        #expect(tool.lastLine == last)
        #expect(tool.end() == 0)
    }

    @Test(arguments: [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -9 $$", nil)] as [(String, Int32?)])
    func statusIsThatOfTheProgram(_ script: String, _ status: Int32?) throws {
        let tool = try #require(RunningTool(["/bin/sh", "-c", script], environment: [:]))
        while !tool.isAtEnd { tool.read() }
        #expect(tool.end() == status)
    }

    /// The descriptors of the doctor stay its own.
    @Test func programGetsThreeDescriptors() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("", to: "file")
        let file = open(path, O_RDONLY | O_CLOEXEC)
        try #require(file > 2)
        defer { close(file) }
        #expect(
            output("[ -e /proc/self/fd/\(file) ] && readlink /proc/$$/fd/\(file) || echo no", ["PATH": "/usr/bin:/bin"])
                == "no\n"
        )
    }
}

@Suite(.timeLimit(.minutes(10))) struct ProcessFactsTests {
    @Test(
        arguments: [
            ([], [:]), (["A=1"], ["A": "1"]), (["A="], ["A": ""]), (["A=1=2"], ["A": "1=2"]), (["A"], [:]),
            (["A=1", "A=2"], ["A": "1"]), (["=x"], ["": "x"]), (["A=1", "B", "C=3"], ["A": "1", "C": "3"]), ([""], [:]),
        ] as [([String], [String: String])]
    )
    func variablesAreRead(_ variables: [String], _ expected: [String: String]) {
        #expect([String: String](ofVariables: variables) == expected)
    }

    @Test func processTellsItsEnvironment() throws {
        let facts = ProcessFacts(pid: UInt32(getpid()))
        #expect(facts.environment["PATH"] != nil)
        #expect(ProcessProgram.file(pid: facts.pid)?.hasPrefix("/") == true)
    }

    @Test func processThatIsGoneTellsNothing() {
        // No process has a number above the kernel's limit of 2²².
        let facts = ProcessFacts(pid: 1 << 30)
        #expect(facts.environment.isEmpty && !facts.isUnit && facts.start == "started by hand")
        #expect(ProcessProgram.file(pid: facts.pid) == nil)
    }
}
