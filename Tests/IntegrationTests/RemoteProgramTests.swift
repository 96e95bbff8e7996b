import Foundation
import OpenURLBus
import RFC1808
import TestSupport
import Testing

/// `openurl-remote` by itself: a relay of the test gives it one answer.
@Suite(.timeLimit(.minutes(5))) struct RemoteProgramTests {
    private static let program = RouterProcess.products.appending(path: "openurl-remote").path
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Runs a program without a relay.
    private func run(_ words: [String], path: String = "/usr/bin:/bin") async throws -> CommandRun {
        let variables = ["PATH": path, "remote": Self.program, "url": "https://sign-in.example/?state=s1"]
        return try await CommandRun(URL(filePath: "/usr/bin/env"), words, variables, in: URL(filePath: directory.path))
    }

    /// Runs a line of shell with a relay that gives one answer. In the line, `$remote` is the program.
    private func run(_ line: String, answer: String) async throws -> CommandRun {
        let relay = try pythonProgram("answer_as_relay")
        return try await run(["python3", "-c", relay, answer, "sh", "-c", line])
    }

    @Test func statusSaysWhetherTheServerReportsAnError() async throws {
        let callbacks: [(url: String, status: Int32)] = [
            ("http://127.0.0.1/done?code=1", 0), ("http://127.0.0.1/done?a=b&error=x", 1),
            ("http://127.0.0.1/done#error=access_denied", 1), ("http://127.0.0.1/done?%65rror", 1),
            ("http://127.0.0.1/&error=x?a=b?error=x#a&error+=x", 0), ("http://127.0.0.1/?error=a#error=%61", 1),
            ("http://127.0.0.1/?error=a#error=b", 0), ("http://127.0.0.1/?error=%E9", 0),
            ("http://127.0.0.1/?error=%C3%A9%F0%9F%98%80", 1), ("http://127.0.0.1/?error=%ED%A0%80&error=a", 1),
            ("http://127.0.0.1/?error=%C0%AF", 0), ("http://127.0.0.1/?error=%E2%82", 0),
            ("http://127.0.0.1/?error=%F0%8F%BF%BF", 0), ("http://127.0.0.1/?error=%F4%90%80%80", 0),
        ]
        for (url, status) in callbacks {
            // Both programs decide alike.
            let parameters = try FormParameters(GenericURL(url))
            #expect((parameters["error"] == nil) == (status == 0), "\(url)")
            let run = try await run("\"$remote\" callback \"$url\"", answer: "callback \(url)")
            #expect(run.status == status && run.output == "\(url)\n", "\(run)")
        }
    }

    @Test(arguments: [">/dev/full", ">&-"]) func lostAnswerIsAFailure(_ redirection: String) async throws {
        let lost = try await run(
            "exec \"$remote\" callback \"$url\" \(redirection)",
            answer: "callback http://127.0.0.1/done?code=1"
        )
        #expect(lost.status == 74 && lost.errors.hasPrefix("openurl-remote: standard output: "), "\(lost)")
        let refused = try await run("exec \"$remote\" can-open \"$url\" \(redirection)", answer: "no")
        #expect(refused.status == 3, "\(refused)")
    }

    @Test func nonBlockingOutputIsComplete() async throws {
        let url = "http://127.0.0.1/done?code=" + String(repeating: "x", count: 40_000)
        let words = ["python3", "-c", try pythonProgram("answer_as_relay"), "callback \(url)"]
        let reader = ["python3", "-c", try pythonProgram("read_full_pipe")]
        let run = try await run(words + reader + [Self.program, "callback", "https://sign-in.example/"])
        #expect(run.status == 0 && run.output == "\(url)\n", "\(run.status): \(run.errors)")
    }

    @Test func messagesAreOneLineWithoutControls() async throws {
        let odd = try await run([Self.program, "http://a/\u{1B}[2J\u{9B}x\u{7F}"])
        #expect(odd.status == 65, "\(odd)")
        #expect(odd.errors == "openurl-remote: not a URL, or too long: http://a/?[2J?x?\n", "\(odd)")
        let long = try await run("\"$remote\" \"$url\"", answer: "failed 7 " + String(repeating: "x", count: 3000))
        #expect(long.status == 7 && long.errors.hasSuffix("x\n"), "\(long)")
    }

    @Test func onlyTheSameCommandLineIsNotPassedOnAgain() async throws {
        let own = try directory.link("own/xdg-open", to: Self.program)
        let other = try directory.makeDirectory("other")
        let path = "\(directory.path)/own:\(other)"
        // Like an editor that the file is opened with.
        let editor = "[ \"$1\" = second ] || exec xdg-open second"
        try writeProgram("#!/bin/sh\necho \"other $1\"\n\(editor)\n", to: "\(other)/xdg-open")
        let passed = try await run([own, "first"], path: path)
        #expect(passed.status == 0 && passed.output == "other first\nother second\n", "\(passed)")
        try writeProgram("#!/bin/sh\necho \"other $1\"\nexec xdg-open \"$1\"\n", to: "\(other)/xdg-open")
        let back = try await run([own, "first"], path: path)
        #expect(back.status == 66 && back.output == "other first\n", "\(back)")
        // In another directory, the same words mean something else.
        let elsewhere = "[ \"$PWD\" = / ] || { cd / && exec xdg-open \"$1\"; }"
        try writeProgram("#!/bin/sh\necho \"other $1\"\n\(elsewhere)\n", to: "\(other)/xdg-open")
        let moved = try await run([own, "first"], path: path)
        #expect(moved.status == 0 && moved.output == "other first\nother first\n", "\(moved)")
    }

    @Test func programsThatCallEachOtherEnd() async throws {
        let own = try directory.link("own/xdg-open", to: Self.program)
        try directory.link("own/openurl", to: Self.program)
        let other = try directory.makeDirectory("other")
        try writeProgram("#!/bin/sh\necho xdg-open\nexec openurl \"$1\"\n", to: "\(other)/xdg-open")
        try writeProgram("#!/bin/sh\necho openurl\nexec xdg-open \"$1\"\n", to: "\(other)/openurl")
        let run = try await run([own, "first"], path: "\(directory.path)/own:\(other)")
        #expect(run.status == 66, "\(run)")
        #expect(run.output == String(repeating: "xdg-open\nopenurl\n", count: 8), "\(run)")
    }

    /// The wait takes minutes, and the file system may be unmounted meanwhile.
    @Test func waitForACallbackHoldsNoDirectory() async throws {
        let place = try directory.makeDirectory("place")
        // The process that waits closes its output after it has left the directory.
        let run = try await run(
            "(cd '\(place)' && \"$remote\" \"$url\" && echo waits) | cat; readlink /proc/[0-9]*/cwd; true",
            answer: "opened-waiting"
        )
        #expect(run.output.hasPrefix("waits\n"), "\(run)")
        #expect(!run.output.split(separator: "\n").contains(Substring(place)), "\(run)")
    }
}
