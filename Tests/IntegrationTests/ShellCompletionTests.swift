import Foundation
import PrivateBus
import Testing

/// TAB in the shells, for which `make install` installs scripts.
@Suite(.timeLimit(.minutes(10))) struct ShellCompletionTests {
    private static let directory = URL(filePath: #filePath).deletingLastPathComponent()

    /// Types lines in a shell, and returns the arguments that `openurl` gets for each.
    ///
    /// - Parameter answer: the text that the shell gets for every question, in the place of the command's answer.
    private func type(
        _ lines: [String],
        in shell: String,
        at directory: URL,
        with router: RouterProcess,
        answer: URL? = nil
    ) async throws -> [[String]] {
        let program = RouterProcess.products.appending(path: "openurl").path
        let script = Self.directory.appending(path: "Completion/press_tab.py").path
        var environment = router.bus.environment
        environment["ANSWER"] = answer?.path
        let run = try await CommandRun(
            URL(filePath: "/usr/bin/env"),
            ["python3", script, shell, program, directory.path] + lines,
            environment,
            in: router.bus.directory
        )
        try #require(run.status == 0, "\(shell): \(run.errors)")
        return try JSONDecoder().decode([[String]].self, from: Data(run.output.utf8))
    }

    /// Each begins with another number, which no scheme does. A command that runs would leave a file.
    private static let names = [
        "$(touch${IFS}RUN)", "`touch RUN`", ";touch RUN;", " e 'f' \"g\"", "\ni", "\u{1B}[31m\u{7}", "&touch RUN&",
        "|touch RUN",
        ">RUN", "*?[x]{a,b}", "~!x", "\\back", "$HOME", "'$(touch RUN)", "\"$(touch RUN)", ":x", "ä(touch RUN)",
        "=touch RUN",
        " e $(touch RUN)",
    ].enumerated().map { "\(10 + $0)\($1)" }

    @Test(arguments: ["bash", "zsh", "fish"]) func namesAreInsertedAsTheyAre(shell: String) async throws {
        // A name of a file in the user's directory of entries is the identifier of an application.
        let entries = Self.names.filter { !$0.contains { $0.isNewline || $0 == "\u{1B}" } }.map { "\($0).desktop" }
        let router = try await RouterProcess { directory in
            let applications = directory.appending(path: "XDG_DATA_HOME/applications")
            try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
            for name in entries {
                let entry =
                    "[Desktop Entry]\nType=Application\nName=x\nExec=true %u\nMimeType=x-scheme-handler/hostile;\n"
                try entry.write(to: applications.appending(path: name), atomically: true, encoding: .utf8)
            }
        }
        defer { router.stop() }
        let files = router.bus.directory.appending(path: "files")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        for name in Self.names + ["-touch"] { try Data().write(to: files.appending(path: name)) }
        let list = try await router.openurl("list").output
        let listed = entries.filter(list.contains)
        try #require(listed.count > 10, "\(list)")

        var lines = Self.names.map { ("openurl open \($0.prefix(2))\t", ["open", $0]) }
        // The plain command opens files and URLs, too.
        lines += Self.names.map { ("openurl \($0.prefix(2))\t", [$0]) }
        lines.append(("openurl \t\t\u{15}openurl x", ["x"]))
        lines.append(("openurl open -- -t\t", ["open", "--", "-touch"]))
        // Open quotes.
        lines.append(("openurl open '10\t", ["open", Self.names[0]]))
        lines.append(("openurl open \"10\t", ["open", Self.names[0]]))
        lines.append(("openurl open '28 e\t", ["open", Self.names[18]]))
        // A list of all, of which none is chosen.
        lines.append(("openurl open \t\t\u{15}openurl x", ["x"]))
        for command in ["status", "default hostile", "unregister"] {
            let words = command.split(separator: " ").map(String.init)
            lines.append(("openurl \(command) \t\t\u{15}openurl x", ["x"]))
            for entry in listed where ["10", "11", "13"].contains(entry.prefix(2)) {
                lines.append(("openurl \(command) \(entry.prefix(2))\t", words + [entry]))
            }
        }
        // A file and an application whose name begins with the file's.
        lines.append(("openurl register 10\t", ["register", Self.names[0]]))
        // The plain words.
        lines.append(("openurl sta\t com.ac\t", ["status", "com.acme.todolist"]))
        lines.append(("openurl open todo\tx", ["open", "todolist:x"]))
        lines.append(("openurl open todolist:\tx", ["open", "todolist:x"]))
        lines.append(("openurl todo\tx", ["todolist:x"]))
        lines.append(("openurl pol\tde\ttodo\t", ["policy", "deny", "todolist"]))
        lines.append(
            (
                "openurl policy ask --source com.ac\ttodo\t",
                ["policy", "ask", "--source", "com.acme.todolist", "todolist"]
            )
        )
        lines.append(("openurl open --handler=com.ac\tx:", ["open", "--handler=com.acme.todolist", "x:"]))
        lines.append(("openurl open --handler com.ac\tx:", ["open", "--handler", "com.acme.todolist", "x:"]))

        let typed = try await type(lines.map(\.0), in: shell, at: files, with: router)
        try #require(typed.count == lines.count)
        for (line, words) in zip(lines, typed) { #expect(words == line.1, "\(shell): \(line.0.debugDescription)") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: files.path).count == Self.names.count + 1)
    }

    /// Whatever the answer is, the shell runs nothing that stands in it.
    @Test(arguments: ["bash", "zsh", "fish"]) func hostileAnswerIsQuoted(shell: String) async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let files = router.bus.directory.appending(path: "files")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        let answer = router.bus.directory.appending(path: "answer")
        let words = Self.names.filter { !$0.contains(where: \.isNewline) }
        let descriptions = words.map { "\($0)\t\($0)" }
        for kind in ["", "files", "directories", "$(touch RUN)"] {
            try ([kind] + descriptions).joined(separator: "\n").write(to: answer, atomically: true, encoding: .utf8)
            let lines = words.map { ("openurl status \($0.prefix(2))\t", ["status", $0]) }
            let list = "openurl status \t\t\u{15}openurl x"
            let typed = try await type(lines.map(\.0) + [list], in: shell, at: files, with: router, answer: answer)
            for (line, words) in zip(lines, typed) {
                #expect(words == line.1, "\(shell), \(kind): \(line.0.debugDescription)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: files.path).isEmpty)
        }
    }

    private func complete(_ router: RouterProcess, _ words: String...) async throws -> [String] {
        let run = try await router.openurl(["__complete"] + words)
        #expect(run.status == 0, "\(run)")
        return run.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    @Test func namesOfTheRouterAreCompleted() async throws {
        let router = try await RouterProcess(["com.example.calendar": [], "com.example.notes": []])
        defer { router.stop() }
        #expect(try await complete(router, "status", "com.example.c") == ["", "com.example.calendar"])
        let urls = try await complete(router, "open", "")
        #expect(urls.first == "files" && Set(urls).isSuperset(of: ["calendar:", "notes:"]), "\(urls)")
        #expect(try await complete(router, "open", "note") == ["files", "notes:"])
        #expect(try await complete(router, "note") == ["files", "notes:"])
        #expect(try await complete(router, "--host", "other", "note") == ["files"])
        #expect(try await complete(router, "check", "com.example.n") == ["files", "com.example.notes"])
        #expect(try await complete(router, "monitor", "--scheme=cal") == ["", "--scheme=calendar"])
        #expect(try await complete(router, "doctor", "cal") == ["", "calendar"])
        #expect(try await complete(router, "policy", "deny", "cal") == ["", "calendar"])
        #expect(try await complete(router, "policy", "ask", "--source", "sand") == ["", "sandboxed"])
        #expect(try await complete(router, "run", "--handler", "com.example.n") == ["files", "com.example.notes"])
        _ = try await router.openurl("--queue", "calendar:x")
        #expect(try await complete(router, "queue", "drop", "x") == [""])
    }
}
