import Foundation
import Glibc
import Logging
import OpenURLBus
import Reactor
import SchemeRegistry
import SystemPackage
import TestSupport
import Testing

@testable import URLRouter

/// The destination of the output of the processes that the router starts.
@Suite(.timeLimit(.minutes(10))) struct HandlerOutputTests {
    private let log = RecordedLog()
    private let loop: EventLoop
    private let directory: TemporaryDirectory
    private let id = "com.example.app"

    init() throws {
        loop = try EventLoop()
        directory = try TemporaryDirectory()
    }

    private var folder: String { "\(directory.path)/openurl/output" }
    private var file: String { "\(folder)/com.example.app.log" }

    private func launcher(_ output: HandlerOutput) -> HandlerLauncher {
        HandlerLauncher(environment: [:], loop: loop, output: output, services: nil)
    }

    private func handler(_ script: String) throws -> Handler {
        try .test("com.example.app", program: .path("/bin/sh")) { $0.arguments = ["-c", script] }
    }

    /// Returns an output that uses files, whether or not this machine has a journal.
    private func output(
        journal: String = "/nonexistent/stdout",
        limits: OutputFollower.Limits = OutputFollower.Limits()
    ) -> HandlerOutput {
        HandlerOutput(in: folder, on: loop, log: log.logger, journal: journal, limits: limits)
    }

    /// Opens the descriptor that a process would write to.
    private func open(_ output: HandlerOutput, id: String = "com.example.app") async throws(Errno) -> FileDescriptor {
        let descriptor = try await loop.run { () throws(Errno) in try output.open(for: id, file: id).descriptor }
        return FileDescriptor(rawValue: descriptor)
    }

    /// Closes the descriptor that a process would write to, as the end of the process does.
    private func end(_ descriptor: FileDescriptor, _ output: HandlerOutput) async throws {
        try descriptor.close()
        await loop.run { [id] in output.processEnded(id, isOwn: true) }
    }

    private func size() throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
    }

    // MARK: The journal

    @Test func standardOutputAndErrorShareOneJournalStream() async throws {
        let journal = try Journal()
        defer { journal.remove() }
        let output = output(journal: journal.path)
        let script = "echo out; echo err >&2; grep flags /proc/self/fdinfo/1; printf end"
        #expect(try await launcher(output).run(handler(script)) == .exited(status: 0))
        let lines = try journal.nextStream().split(separator: "\n", omittingEmptySubsequences: false)
        // The header has the identifier, no unit, the priority, the flag for priorities in lines, and three flags
        // against forwarding.
        #expect(lines[..<7] == ["com.example.app", "", "6", "1", "0", "0", "0"])
        #expect(lines[7...8] == ["out", "err"])
        // The descriptor blocks while the journal is slow, so a write does not fail.
        let flags = try #require(lines[9].split(separator: "\t").last.flatMap { CInt($0, radix: 8) })
        #expect(flags & O_NONBLOCK == 0)
        #expect(lines[10...] == ["end"])
        #expect(log.lines == [])
    }

    @Test func tooLongIdentifierIsTruncatedInTheHeader() async throws {
        let journal = try Journal()
        defer { journal.remove() }
        try await open(output(journal: journal.path), id: String(repeating: "i", count: 255)).close()
        #expect(try journal.nextStream() == String(repeating: "i", count: 254) + "\n\n6\n1\n0\n0\n0\n")
    }

    @Test func placeIsKnownBeforeTheProcess() async throws {
        let journal = try Journal()
        defer { journal.remove() }
        let (id, own) = (id, ProcessOutput.file(file, start: 0))
        for (path, isRead, expected) in [
            (journal.path, false, .journal(identifier: id)), (journal.path, true, own),
            ("/nonexistent/stdout", false, own),
        ] as [(String, Bool, ProcessOutput)] {
            let output = output(journal: path)
            #expect(await loop.run { output.place(for: id, file: id, isRead: isRead) } == expected)
        }
        let lost = HandlerOutput(in: nil, on: loop, log: log.logger, journal: "/nonexistent/stdout")
        #expect(await loop.run { lost.place(for: id, file: id, isRead: true) } == .nowhere)
    }

    @Test func outputGoesToTheLogWithoutAJournal() async throws {
        let deaf = try Journal(isListening: false)
        let busy = try Journal(backlog: 0)
        defer {
            deaf.remove()
            busy.remove()
        }
        try await open(output(journal: busy.path)).close()
        let tooLong = "/" + String(repeating: "j", count: 200)
        for (number, path) in ["/nonexistent/stdout", deaf.path, busy.path, tooLong, ""].enumerated() {
            let script = "echo \(number) out; echo \(number) err >&2"
            #expect(try await launcher(output(journal: path)).run(handler(script)) == .exited(status: 0))
            try await log.wait(for: "\(number) err")
        }
        #expect(log.lines == (0..<5).flatMap { n in ["out", "err"].map { "info com.example.app: \(n) \($0)" } })
        let written = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
        #expect(written == (0..<5).map { "\($0) out\n\($0) err\n" }.joined())
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(stat(folder, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }

    @Test func outputIsLostWithoutAPlaceForFiles() async throws {
        let homeless = HandlerOutput(in: nil, on: loop, log: log.logger, journal: "/nonexistent/stdout")
        #expect(try await launcher(homeless).run(handler("echo lost")) == .exited(status: 0))
        #expect(log.lines == [])
        // A process must not write to another file of the user.
        let target = "\(directory.path)/target"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        #expect(symlink(target, file) == 0)
        #expect(try await launcher(output()).run(handler("echo lost")) == .exited(status: 0))
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.hasPrefix("warning com.example.app: its output is lost, because ") == true)
        #expect(unlink(file) == 0 && mkfifo(file, 0o600) == 0)
        #expect(try await launcher(output()).run(handler("echo lost")) == .exited(status: 0))
        #expect(log.lines.count == 2 && access(target, F_OK) != 0)
    }

    // MARK: The log

    @Test func outputIsLoggedLineByLine() async throws {
        let output = output()
        let descriptor = try await open(output)
        try descriptor.writeAll("one\n\n\ntwo\r\nthr".utf8)
        try await log.wait(for: "two\r")
        try descriptor.writeAll("ee\n\u{FEFF}\u{E9}".utf8)
        try descriptor.writeAll([0xFF, 0x0A])
        try descriptor.writeAll("no end".utf8)
        try await end(descriptor, output)
        try await log.wait(for: "no end")
        #expect(
            log.lines
                == ["one", "two\r", "three", "\u{FEFF}\u{E9}\u{FFFD}", "no end"].map { "info com.example.app: \($0)" }
        )
    }

    @Test func tooLongLineIsTruncated() async throws {
        let output = output()
        let descriptor = try await open(output)
        let a = String(repeating: "a", count: 4096)
        try descriptor.writeAll("\(a)\n".utf8)
        try descriptor.writeAll("x\n\(a)\(a)b\n".utf8)
        try await end(descriptor, output)
        try await log.wait(for: ": b")
        #expect(log.lines == [a, "x", a, a, "b"].map { "info com.example.app: \($0)" })
    }

    @Test func excessOutputIsCountedAndDoesNotBlockTheWriter() async throws {
        var limits = OutputFollower.Limits()
        limits.lines = 3
        // The period must not end during the test, however slow the machine is.
        limits.period = .seconds(3600)
        // If this process ignores SIGPIPE, as a library in it may make it do, yes complains about the end of head.
        let exit = try await launcher(output(limits: limits)).run(handler("yes 2>/dev/null | head -c 200000"))
        #expect(exit == .exited(status: 0))
        try await log.wait(for: "lines were left out")
        let kept = Array(repeating: "info com.example.app: y", count: 3)
        #expect(log.lines == kept + ["warning com.example.app: it wrote too much: 99997 lines were left out"])
    }

    @Test func bytesOfAPeriodAreLimited() async throws {
        var limits = OutputFollower.Limits()
        limits.bytes = 9
        limits.period = .seconds(3600)
        let exit = try await launcher(output(limits: limits)).run(handler("printf 'aaaa\\nbbbb\\ncccc\\ndddd\\n'"))
        #expect(exit == .exited(status: 0))
        try await log.wait(for: "lines were left out")
        let kept = ["aaaa", "bbbb"].map { "info com.example.app: \($0)" }
        #expect(log.lines == kept + ["warning com.example.app: it wrote too much: 2 lines were left out"])
    }

    @Test func endOfAPeriodIsReportedAndResetsTheCount() async throws {
        var limits = OutputFollower.Limits()
        limits.lines = 1
        limits.period = .milliseconds(20)
        let output = output(limits: limits)
        let descriptor = try await open(output)
        for round in 1...2 {
            try descriptor.writeAll("\(round)\nx\nx\n".utf8)
            try await log.wait(for: "it wrote too much: 2 lines were left out", times: round)
        }
        try await end(descriptor, output)
        #expect(log.lines.filter { $0.hasPrefix("info") }.map { $0.suffix(1) } == ["1", "2"])
    }

    @Test func limitHoldsAcrossTheEndsOfProcesses() async throws {
        var limits = OutputFollower.Limits()
        limits.lines = 3
        limits.period = .seconds(3600)
        let launcher = launcher(output(limits: limits))
        // The end of a process is told after its lines are read.
        for _ in 1...3 { #expect(try await launcher.run(handler("echo 1; echo 2")) == .exited(status: 0)) }
        let leftOut = [1, 2].map { "warning com.example.app: it wrote too much: \($0) lines were left out" }
        #expect(log.lines == ["1", "2", "1"].map { "info com.example.app: \($0)" } + leftOut)
    }

    // MARK: The files

    @Test func fileIsEmptiedWhenItIsReadAndTooLarge() async throws {
        var limits = OutputFollower.Limits()
        limits.fileBytes = 100
        let output = output(limits: limits)
        let descriptor = try await open(output)
        let line = String(repeating: "a", count: 99)
        try descriptor.writeAll("\(line)\n".utf8)
        try await log.wait(for: line)
        #expect(try size() == 100)
        try descriptor.writeAll("more\n".utf8)
        try await log.wait(for: "more")
        // The writer continues at the start of the empty file.
        await loop.run {}
        #expect(try size() == 0)
        try descriptor.writeAll("again\n".utf8)
        try await log.wait(for: "again")
        #expect(try size() == 6)
        try await end(descriptor, output)
        #expect(log.lines == [line, "more", "again"].map { "info com.example.app: \($0)" })
    }

    @Test func outputFarAheadOfTheRouterIsLeftOut() async throws {
        var limits = OutputFollower.Limits()
        limits.fileBytes = 100
        limits.period = .seconds(3600)
        let output = output(limits: limits)
        let descriptor = try await open(output)
        try descriptor.writeAll("first\nbegun".utf8)
        try await log.wait(for: "first")
        try descriptor.writeAll(String(repeating: "x\n", count: 1000).utf8)
        await loop.run {}
        try await end(descriptor, output)
        try await log.wait(for: "bytes were left out")
        #expect(
            log.lines == [
                "info com.example.app: first", "warning com.example.app: it wrote too much: 2000 bytes were left out",
            ]
        )
        #expect(try size() == 0)
    }

    @Test func nextRouterContinuesAtTheEndOfTheFile() async throws {
        let output = output()
        let descriptor = try await open(output)
        try descriptor.writeAll("for the first router\n".utf8)
        try await log.wait(for: "for the first router")
        let nextLog = RecordedLog()
        let loop = try EventLoop()
        let next = HandlerOutput(in: folder, on: loop, log: nextLog.logger, journal: "/nonexistent/stdout")
        await loop.run { next.followExisting() }
        try descriptor.writeAll("for the next router\n".utf8)
        try await nextLog.wait(for: "for the next router")
        try await end(descriptor, output)
        await loop.run { [id] in next.processEnded(id, isOwn: false) }
        #expect(nextLog.lines == ["info com.example.app: for the next router"])
    }

    @Test func fileThatGrewWithoutARouterIsEmptied() async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(repeating: 0x61, count: 5000).write(to: URL(filePath: file))
        var limits = OutputFollower.Limits()
        limits.fileBytes = 100
        let output = output(limits: limits)
        await loop.run { output.followExisting() }
        #expect(try size() == 0)
        #expect(log.lines == [])
    }

    @Test func linkedDirectoryIsLeftAlone() async throws {
        let documents = "\(directory.path)/documents"
        for path in [documents, "\(directory.path)/openurl"] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        try Data(repeating: 0x61, count: 5000).write(to: URL(filePath: "\(documents)/com.example.app.log"))
        #expect(symlink(documents, folder) == 0)
        var limits = OutputFollower.Limits()
        limits.fileBytes = 100
        let output = output(limits: limits)
        await loop.run { output.followExisting() }
        #expect(try await launcher(output).run(handler("echo lost")) == .exited(status: 0))
        #expect(try size() == 5000)
        let reason = "\(folder) is a link, not a directory"
        #expect(
            log.lines == [
                "warning : the output of running handlers cannot be read: \(reason)",
                "warning com.example.app: its output is lost, because the file for it cannot be opened: \(reason)",
            ]
        )
    }

    @Test func fileOfAnotherKindIsNotEmptied() async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let document = "\(directory.path)/document"
        try Data(repeating: 0x61, count: 5000).write(to: URL(filePath: document))
        try Data(repeating: 0x61, count: 5000).write(to: URL(filePath: "\(folder)/not an identifier.log"))
        #expect(link(document, file) == 0 && symlink(document, "\(folder)/com.example.link.log") == 0)
        var limits = OutputFollower.Limits()
        limits.fileBytes = 100
        let output = output(limits: limits)
        await loop.run { output.followExisting() }
        #expect(try size() == 5000)
        for name in ["com.example.link", "not an identifier"] {
            var status = stat()
            #expect(stat("\(folder)/\(name).log", &status) == 0 && status.st_size == 5000)
        }
    }

    @Test func fileIsFollowedAsLongAsAProcessMayWrite() async {
        // A child process that another test starts has all descriptors for a moment.
        await #expect(processExitsWith: .success) {
            let log = RecordedLog()
            let loop = try EventLoop()
            let directory = try TemporaryDirectory()
            let id = "com.example.app"
            try Data().write(to: URL(filePath: "\(directory.path)/com.example.ended.log"))
            func output() -> HandlerOutput {
                HandlerOutput(
                    in: "\(directory.path)/openurl/output",
                    on: loop,
                    log: log.logger,
                    journal: "/nonexistent/stdout"
                )
            }
            let (first, next) = (output(), output())
            let descriptor = try await loop.run { () throws(Errno) in try first.open(for: id, file: id).descriptor }
            let descendant = dup(descriptor)
            await loop.run { next.followExisting() }
            #expect(await loop.run { next.followed } == [id])
            close(descriptor)
            await loop.run { first.processEnded(id, isOwn: true) }
            #expect(await loop.run { first.followed } == [id])
            close(descendant)
            await loop.run { first.processEnded(id, isOwn: false) }
            #expect(await loop.run { first.followed } == [])
            await loop.run { next.processEnded(id, isOwn: false) }
            #expect(await loop.run { next.followed } == [])
        }
    }

    @Test func fileIsFollowedToTheEndOfThePeriod() async throws {
        let output = output()
        #expect(try await launcher(output).run(handler("echo x")) == .exited(status: 0))
        try await log.wait(for: "x")
        #expect(await loop.run { output.followed } == [id])
    }

    @Test func commandOfAnApplicationHasAFileOfItsOwn() async throws {
        let launcher = launcher(output())
        let exit = await withCheckedContinuation { continuation in
            Task(executorPreference: launcher.loop) { [id] in
                do {
                    _ = try await launcher.launch(
                        id,
                        ["/bin/sh", "-c", "echo command"],
                        [:],
                        for: nil,
                        directory: nil,
                        within: .seconds(60)
                    ) { continuation.resume(returning: $0) }
                } catch {
                    continuation.resume(returning: .unknown)
                }
            }
        }
        #expect(exit == .exited(status: 0))
        try await log.wait(for: "command")
        #expect(log.lines == ["info com.example.app.desktop: command"])
        #expect(access(file, F_OK) != 0)
    }

    @Test func emptiedOrRemovedFileIsReadFromItsStart() async throws {
        let output = output()
        let first = try await open(output)
        try first.writeAll("longer than the line after it\n".utf8)
        try await log.wait(for: "longer than the line after it")
        #expect(truncate(file, 0) == 0)
        try first.writeAll("emptied\n".utf8)
        try await log.wait(for: "emptied")
        try first.close()
        try FileManager.default.removeItem(atPath: folder)
        #expect(try await launcher(output).run(handler("echo new")) == .exited(status: 0))
        try await log.wait(for: "new")
    }

    // MARK: The last line

    @Test(arguments: [
        ("printf 'a\\342\\200\\256b'", "; it wrote: a\\u{202E}b"),
        ("echo one; echo two >&2", "; it wrote: two"), ("printf 'one\\n \\n\\n'", "; it wrote: one"), ("", ""),
        ("printf '\\n\\n'", ""), ("printf 'a\\033[2Jb\\tc'", "; it wrote: a\\u{1B}[2Jb\\tc"),
        ("printf '%0400d'", "; it wrote: " + String(repeating: "0", count: 300) + "…"),
        ("printf '\\303\\251\\377'", "; it wrote: é\u{FFFD}"),
        ("seq 3000", "; it wrote: 3000"),
        // Swift 6.3 writes a backtrace after the reason. The last line is only its time.
        (
            "echo 'App.swift:3: Fatal error: no list'; echo thread 2; echo; echo '*** Signal 4: Backtracing from 0x7f... done ***'; "
                + "echo; echo '*** Program crashed: Illegal instruction at 0x7f ***'; echo 'rax 0x0  0'; echo 'Backtrace took 0.14s'",
            "; it wrote: App.swift:3: Fatal error: no list"
        ),
        (
            "echo 'a: Fatal error: old'; echo 'a: Fatal error: new'; echo 'Current stack trace:'",
            "; it wrote: a: Fatal error: new"
        ),
        (
            "echo begins; echo '*** Signal 11: Backtracing from 0x7f... done ***'; echo 'rax 0x0  0'; echo 'Backtrace took 0.00s'",
            "; it wrote: begins"
        ),
        (
            "echo '*** Signal 11: Backtracing from 0x7f... done ***'; echo '*** Program crashed: Bad pointer dereference ***'; "
                + "echo 'rax 0x0  0'; echo 'Backtrace took 0.00s'",
            "; it wrote: *** Program crashed: Bad pointer dereference ***"
        ),
        // A shell tells the end of the program that it ran.
        (
            "echo '*** Program crashed: Illegal instruction ***'; echo 'Backtrace took 0.00s'; echo 'line 3: 12 Illegal instruction'",
            "; it wrote: line 3: 12 Illegal instruction"
        ),
        (
            "echo '  File \"/a/b.py\", line 7'; echo '    def f(:'; echo '          ^'; echo 'SyntaxError: invalid syntax'",
            "; it wrote: SyntaxError: invalid syntax (File \"/a/b.py\", line 7)"
        ),
        ("echo '  File \"/a/b.py\", line 7'; echo 'KeyError: 1'", "; it wrote: KeyError: 1"),
        ("echo 'TabError: alone'", "; it wrote: TabError: alone"),
        ("echo 'rax 0x0  0'; echo 'Backtrace took 0.00s'; echo after", "; it wrote: after"),
        ("echo 'rax 0x0  0'; echo 'Backtrace took 0.00s'", "; it wrote: Backtrace took 0.00s"),
    ])
    func lastTellingLineOfAProcessIsQuoted(script: String, hint: String) async throws {
        let output = output()
        // The line of an earlier process is not the process's own.
        #expect(try await launcher(output).run(handler("echo earlier")) == .exited(status: 0))
        let (descriptor, place) = try await loop.run { [id] () throws(Errno) in try output.open(for: id, file: id) }
        close(descriptor)
        #expect(place == .file(file, start: 8))
        #expect(try await launcher(output).run(handler(script)) == .exited(status: 0))
        #expect(place.hint(of: nil).description == (hint.isEmpty ? "" : "\(hint); its output is in \(file)"))
    }

    @Test func outputThatIsSlowToCompareIsQuotedAtOnce() async throws {
        let output = output()
        let (descriptor, place) = try await loop.run { [id] () throws(Errno) in try output.open(for: id, file: id) }
        let marks = "a" + String(repeating: "\u{301}\u{316}", count: 32_000)
        #expect(marks.withCString { write(descriptor, $0, strlen($0)) } == marks.utf8.count)
        close(descriptor)
        let time = threadTime {
            #expect(place.hint(of: nil).description.utf8.starts(with: "; it wrote: a".utf8))
        }
        // Each search takes 0.8 seconds otherwise, and there are four.
        #expect(time < .milliseconds(1500))
    }

    @Test func lastLineOfACommandIsItsReason() async throws {
        let output = output()
        let (descriptor, place) = try await loop.run { [id] () throws(Errno) in try output.open(for: id, file: id) }
        close(descriptor)
        let script = "echo 'Fatal error: first'; echo 'the list is closed'"
        #expect(try await launcher(output).run(handler(script)) == .exited(status: 0))
        #expect(place.lastLine == "the list is closed")
    }

    @Test func lineThatQuotesALongURLIsQuotedFromItsBeginning() async throws {
        let output = output()
        let (descriptor, place) = try await loop.run { [id] () throws(Errno) in try output.open(for: id, file: id) }
        close(descriptor)
        #expect(try await launcher(output).run(handler("printf 'begin %065536d'")) == .exited(status: 0))
        let quoted = "begin " + String(repeating: "0", count: 294) + "…"
        #expect(place.hint(of: nil).description == "; it wrote: \(quoted); its output is in \(file)")
    }

    // MARK: Secrets

    @Test func secretsOfTheLatestURLsAreLeftOut() async throws {
        var limits = OutputFollower.Limits()
        limits.lineBytes = 40
        let output = output(limits: limits)
        let urls = (1...16).map { "app:x?token=s3cret\($0)Value" }
        await loop.run { [id] in for url in ["app:x?token=0ldSecret"] + urls { output.note(url, of: id) } }
        let descriptor = try await open(output)
        // The second line is cut within a secret.
        let filling = String(repeating: "x", count: 28)
        let lines = ["opened \(urls[0])", "\(filling)s3cret7Value here", "no S3CRET16VALUE", "0ldSecret"]
        try descriptor.writeAll(Array((lines.joined(separator: "\n") + "\n").utf8))
        try await end(descriptor, output)
        try await log.wait(for: "0ldSecret")
        let shown = [
            "opened app:x?…", "\(filling)…", " here", "no …",
            // Only 16 URLs are kept.
            "0ldSecret",
        ]
        #expect(log.lines == shown.map { "info com.example.app: \($0)" })
        let texts = await loop.run { [id] in
            [id, "com.example.other"].map {
                output.withoutSecrets(QuotingText(quoting: "no s3cret3Value"), of: $0).description
            }
        }
        #expect(texts == ["no …", "no s3cret3Value"])
    }

    @Test func urlsOfFewNamesAreKept() async throws {
        let output = output()
        let texts = await loop.run {
            for number in 0...128 { output.note("app:x?token=s3cretValue", of: "com.example.a\(number)") }
            // A URL of the largest size is kept alone.
            output.note("app:x?pin=s3cretPin", of: "com.example.long")
            output.note("app:x?token=" + String(repeating: "0", count: 60_000), of: "com.example.long")
            return ["a0", "a2", "a128", "long"].map {
                output.withoutSecrets(QuotingText(quoting: "s3cretValue s3cretPin 00000000"), of: "com.example.\($0)")
                    .description
            }
        }
        let shown = "… s3cretPin 00000000"
        #expect(texts == ["s3cretValue s3cretPin 00000000", shown, shown, "s3cretValue s3cretPin …"])
    }

    @Test func commandIsNamedInsteadOfTheLastLine() {
        let journal = ProcessOutput.journal(identifier: "com.example.app")
        #expect(
            journal.hint(of: "com.example.app").description == "; 'openurl output com.example.app' shows its output"
        )
        #expect(journal.hint(of: nil).description == "; 'journalctl --user -t com.example.app' shows its output")
        #expect(ProcessOutput.nowhere.hint(of: nil).description == "")
        #expect(ProcessOutput.file("/nonexistent/file", start: 0).hint(of: "com.example.app").description == "")
    }

    @Test func limitsEqualThoseOfJournald() {
        let limits = OutputFollower.Limits()
        #expect(limits.lines == 10_000)
        #expect(limits.period == .seconds(30))
    }

    // MARK: Descriptors

    @Test func launchesLeakNoDescriptorsInEitherProcess() async {
        // No other test opens descriptors in a child process.
        await #expect(processExitsWith: .success) {
            let log = RecordedLog()
            let loop = try EventLoop()
            let directory = try TemporaryDirectory()
            let output = HandlerOutput(
                in: "\(directory.path)/openurl/output",
                on: loop,
                log: log.logger,
                journal: "/nonexistent/stdout"
            )
            let launcher = HandlerLauncher(environment: [:], loop: loop, output: output, services: nil)
            // The highest number belongs to the directory `/proc/self/fd` itself.
            let lister = try Handler.test("com.example.app", program: .path("/bin/ls")) {
                $0.arguments = ["/proc/self/fd"]
            }
            let missing = try Handler.test("com.example.missing")
            func openDescriptors() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            #expect(try await launcher.run(lister) == .exited(status: 0))
            try await log.wait(for: ": 3")
            let before = try openDescriptors()
            for round in 2...101 {
                #expect(try await launcher.run(lister) == .exited(status: 0))
                try await log.wait(for: ": 3", times: round)
                await #expect(throws: (any Error).self) { try await launcher.run(missing) }
            }
            #expect(try openDescriptors() <= before)
            #expect(Set(log.lines) == Set((0...3).map { "info com.example.app: \($0)" }))
        }
    }
}

/// A socket in place of the socket of journald.
private struct Journal {
    let path: String
    private let socket: CInt

    init(isListening: Bool = true, backlog: CInt = 8) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "openurl-\(UUID().uuidString)").path
        socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound && (!isListening || listen(socket, backlog) == 0))
    }

    /// Returns the contents of the first stream up to its end. Several processes may hold the other end of the stream.
    func nextStream() throws -> String {
        let stream = FileDescriptor(rawValue: accept(socket, nil, nil))
        return try stream.closeAfter {
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = try buffer.withUnsafeMutableBytes { try stream.read(into: $0) }
                if count == 0 { return String(decoding: text, as: UTF8.self) }
                text += buffer[..<count]
            }
        }
    }

    func remove() {
        close(socket)
        unlink(path)
    }
}
