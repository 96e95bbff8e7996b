import Foundation
import Glibc
import OpenURLBus
import Processes
import Reactor
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The records of started processes, and the recognition of a handler's process.
@Suite(.timeLimit(.minutes(10))) struct ProcessRecordTests {
    private let log = RecordedLog()
    private let directory: TemporaryDirectory
    private let id: BundleIdentifier
    private let pid = UInt32(getpid())

    init() throws {
        directory = try TemporaryDirectory()
        id = try BundleIdentifier("com.example.app")
    }

    private var environment: [String: String] { ["XDG_RUNTIME_DIR": directory.path] }

    private var file: String { "\(directory.path)/openurl/processes/com.example.app" }

    private func records() throws -> ProcessRecords {
        try #require(ProcessRecords(environment: environment, log: log.logger))
    }

    private func text() throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    }

    private func write(_ text: String) throws {
        try FileManager.default.createDirectory(
            atPath: "\(directory.path)/openurl/processes",
            withIntermediateDirectories: true
        )
        try Data(text.utf8).write(to: URL(filePath: file))
    }

    // MARK: Records

    @Test func laterRouterFindsTheRecordedProcess() throws {
        try records().add(getpid(), of: id)
        #expect(try records().contain(pid, of: id))
        #expect(try !records().contain(1, of: id))
        #expect(try !records().contain(pid, of: BundleIdentifier("com.example.other")))
        #expect(try records().removeEnded() == ["com.example.app"])
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(stat("\(directory.path)/openurl/processes", &status) == 0 && status.st_mode & 0o777 == 0o700)
        #expect(log.lines == [])
    }

    @Test func laterRouterFindsTheTasks() throws {
        let process = try #require(ProcessIdentity(pid: pid))
        let tasks: [UInt32: String] = [7: "upload", .max: "", 0: "line 1\nline 2 é"]
        try records().add(getpid(), of: id)
        #expect(try records().tasks(of: id, process) == [:])
        try records().put(tasks, of: id, process)
        #expect(try records().tasks(of: id, process) == tasks)
        #expect(try records().contain(pid, of: id))
        let other = ProcessIdentity(pid: pid, startTime: process.startTime + 1)
        #expect(try records().tasks(of: id, other) == [:])
        let most = Dictionary(
            uniqueKeysWithValues: (0..<1024).map { (UInt32.max - $0, String(repeating: "n", count: 256)) }
        )
        try records().put(most, of: id, process)
        #expect(try records().tasks(of: id, process) == most)
        try records().put([:], of: id, process)
        #expect(try records().tasks(of: id, process) == [:])
        #expect(log.lines == [])
    }

    /// A script or a sandbox is started, and another process begins the tasks.
    @Test func tasksOfAnotherProcessLeaveTheStartedOneOnRecord() throws {
        let child = try RunningProcess()
        defer { child.end() }
        let owner = try #require(ProcessIdentity(pid: child.pid))
        try records().add(getpid(), of: id)
        try records().put([1: "upload"], of: id, owner)
        #expect(try records().tasks(of: id, owner) == [1: "upload"])
        #expect(try records().tasks(of: id, #require(ProcessIdentity(pid: pid))) == [:])
        #expect(try records().contain(pid, of: id))
        #expect(try !records().contain(child.pid, of: id))
        #expect(try records().removeEnded() == [id.rawValue])
        try records().put([:], of: id, owner)
        #expect(try records().contain(pid, of: id))
    }

    @Test func recordsAreInTheStateWithoutARuntimeDirectory() throws {
        let records = try #require(ProcessRecords(environment: ["XDG_STATE_HOME": directory.path], log: log.logger))
        records.add(getpid(), of: id)
        #expect(access(file, R_OK) == 0)
        #expect(ProcessRecords(environment: [:], log: log.logger) == nil)
    }

    @Test func processWithAnotherStartIsNotTheRecordedOne() throws {
        try records().add(getpid(), of: id)
        let fields = try text().split(separator: " ").map(String.init)
        let start = try #require(UInt64(fields[1]))
        for text in ["\(pid) \(start + 1) \(fields[2])", "\(pid) \(start) another-start-of-the-system\n"] {
            try write(text)
            #expect(try !records().contain(pid, of: id))
            #expect(try records().removeEnded() == [])
            #expect(access(file, F_OK) != 0)
        }
    }

    @Test(arguments: ["", "x", "1 2", "-1 2 3", "1 2 3 4", "\u{0}", String(repeating: "1", count: 200)])
    func damagedRecordIsIgnoredAndReplaced(text: String) throws {
        try write(text)
        #expect(try !records().contain(pid, of: id))
        #expect(log.lines.count == 1)
        try records().add(getpid(), of: id)
        #expect(try records().contain(pid, of: id))
    }

    @Test func linkOrDirectoryInThePlaceOfARecordIsIgnored() throws {
        try records().add(getpid(), of: id)
        let target = "\(directory.path)/target"
        #expect(rename(file, target) == 0 && symlink(target, file) == 0)
        #expect(try !records().contain(pid, of: id))
        #expect(log.lines == ["warning : ignored: \(file): is a link, not a file"])
        // The writer replaces the link itself.
        #expect(truncate(target, 0) == 0)
        try records().add(getpid(), of: id)
        #expect(try records().contain(pid, of: id))
        #expect(try Data(contentsOf: URL(filePath: target)).isEmpty)

        #expect(unlink(file) == 0 && mkdir(file, 0o700) == 0)
        #expect(try !records().contain(pid, of: id))
        try records().add(getpid(), of: id)
        #expect(log.lines.last?.hasPrefix("warning com.example.app: the process was not recorded: ") == true)
        #expect(try records().removeEnded() == [])
    }

    @Test func linkedDirectoryIsLeftAlone() throws {
        try write("an old document")
        let (processes, documents) = ("\(directory.path)/openurl/processes", "\(directory.path)/documents")
        #expect(rename(processes, documents) == 0 && symlink(documents, processes) == 0)
        #expect(try records().removeEnded() == [])
        try records().removeEnded(id)
        try records().add(getpid(), of: id)
        #expect(try !records().contain(pid, of: id))
        #expect(try FileManager.default.contentsOfDirectory(atPath: documents) == ["com.example.app"])
        #expect(try text() == "an old document")
        let reason = "\(processes) is a link, not a directory"
        #expect(log.lines.first == "warning : the records of processes cannot be used: \(reason)")
    }

    @Test func fileThatIsNoRecordStays() throws {
        let documents = "\(directory.path)/openurl/processes"
        try write("1 2 3 4")
        try Data("1 2 3\n".utf8).write(to: URL(filePath: "\(documents)/notes and plans.txt"))
        #expect(try records().removeEnded() == [])
        try records().removeEnded(id)
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: documents)).count == 2)
        #expect(Set(log.lines) == ["warning : ignored: \(file): is not the record of a process"])
    }

    @Test func recordLivesAsLongAsItsProcess() async throws {
        let loop = try EventLoop()
        let output = HandlerOutput(in: nil, on: loop, log: log.logger)
        let launcher = HandlerLauncher(
            environment: [:],
            loop: loop,
            output: output,
            services: nil,
            records: try records()
        )
        let handler = try Handler.test("com.example.app", program: .path("/bin/sh")) {
            // The process sees its own number in the record.
            $0.arguments = ["-c", "until [ -s \(file) ]; do :; done; read pid start boot <\(file); [ $pid = $$ ]"]
        }
        #expect(try await launcher.run(handler) == .exited(status: 0))
        #expect(access(file, F_OK) != 0)
    }

    // MARK: Programs and scripts

    /// Starts a script by hand and returns whether its process counts as the handler's.
    private func recognises(_ firstLine: String, start command: (_ script: String) -> [String]) async throws -> Bool {
        let script = "\(directory.path)/handler"
        let text = "\(script).text"
        try Data("\(firstLine)\nimport sys; print('ready', flush=True); sys.stdin.read()\n".utf8)
            .write(to: URL(filePath: text))
        // The kernel starts no file that is open for writing. A process that another test starts has all descriptors of this one
        // for a moment, so another program writes the script.
        let copy = try ChildProcess.run(URL(filePath: "/usr/bin/install"), arguments: ["-m", "700", text, script])
        copy.waitUntilExit()
        #expect(copy.terminationStatus == 0)
        let handler = try Handler.test("com.example.app", program: .path(script))
        let loop = try EventLoop()
        let environment = ["PATH": "/usr/bin:/bin"]
        let launcher = HandlerLauncher(
            environment: environment,
            loop: loop,
            output: HandlerOutput(in: nil, on: loop, log: log.logger),
            services: nil
        )
        let process = ChildProcess()
        let command = command(script)
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        process.environment = environment
        process.currentDirectoryURL = URL(filePath: directory.path)
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        _ = output.fileHandleForReading.availableData
        defer {
            input.fileHandleForWriting.closeFile()
            process.waitUntilExit()
        }
        let pid = UInt32(process.processIdentifier)
        let recognition = launcher.recognition
        return await Task(executorPreference: loop) { await recognition.runsProgram(of: handler, pid: pid) }.value
    }

    @Test func scriptIsRecognisedByItsInterpreterAndItsPath() async throws {
        for line in [
            "#!/usr/bin/python3", "#! /usr/bin/python3 -u", "#!/usr/bin/env python3", "#!/usr/bin/env -S python3 -u",
        ] {
            #expect(try await recognises(line) { [$0, "argument"] }, "\(line)")
        }
        #expect(try await recognises("#!/usr/bin/python3") { _ in ["/usr/bin/python3", "-u", "handler", "argument"] })
        #expect(try await recognises("#!/usr/bin/python3") { _ in ["/usr/bin/env", "./handler"] })
    }

    @Test func otherScriptOfTheInterpreterIsNotTheHandler() async throws {
        let other = "\(directory.path)/other"
        try Data("print('ready', flush=True); input()\n".utf8).write(to: URL(filePath: other))
        #expect(try await !recognises("#!/usr/bin/python3") { ["/usr/bin/python3", other, $0] })
        let code = "import sys; print('ready', flush=True); sys.stdin.read()"
        #expect(try await !recognises("#!/usr/bin/python3") { ["/usr/bin/python3", "-c", code, $0] })
        // The script names another interpreter.
        #expect(try await !recognises("#!/bin/sh") { ["/usr/bin/python3", $0] })
        #expect(try await !recognises("# no interpreter") { ["/usr/bin/python3", $0] })
    }
}
