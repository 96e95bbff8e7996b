import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Reactor
import TestSupport
import Testing

/// Descriptors in annotations and in replies, with real processes.
@Suite(.timeLimit(.minutes(10))) struct DescriptorTests {
    private static let id = "com.example.app"

    private func options(_ descriptors: [UnixFD]) -> OpenOptions {
        var options = OpenOptions()
        options.annotation = .options(["files": .array(descriptors.map(Value.unixFD), of: "h")])
        return options
    }

    private func openDescriptors(of pid: Int32) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }

    /// The inode of a pipe, which both ends have.
    private func inode(_ descriptor: CInt) -> UInt64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    @Test func descriptorsGoBothWays() async throws {
        let router = try await RouterProcess([Self.id: []])
        defer { router.stop() }
        let pipe = Pipe()
        let sent = (0..<Value.maximumDescriptors).map { _ in
            UnixFD(owning: dup(pipe.fileHandleForReading.fileDescriptor))
        }
        // The handler answers with the annotation.
        let reply = try await router.open("app:x", options(sent)).reply
        guard case .array(let files, "h") = reply["annotation"]?.options?["files"] else {
            Issue.record("the annotation did not come back: \(reply)")
            return
        }
        #expect(files.count == Value.maximumDescriptors)
        for case .unixFD(let file) in files {
            #expect(inode(file.rawValue) == inode(pipe.fileHandleForReading.fileDescriptor))
        }
        // A seventeenth does not fit into a message of the library, and the router refuses one from any other.
        await #expect(throws: CallError.notSent(.descriptorNotPassed)) {
            try await router.open("app:y", options(sent + [sent[0]]))
        }
    }

    /// `OPENURL_DESCRIPTOR_OPENS` sets the number of opens.
    @Test func opensLeaveNoDescriptor() async throws {
        let count = ProcessInfo.processInfo.environment["OPENURL_DESCRIPTOR_OPENS"].flatMap(Int.init) ?? 300
        // The log opens its files some time after the first entry.
        let router = try await RouterProcess([Self.id: ["pipe=text"]], wrapper: ["/usr/bin/env", "OPENURL_LOG=off"])
        defer { router.stop() }
        let pipe = Pipe()
        let sent = (0..<4).map { _ in UnixFD(owning: dup(pipe.fileHandleForReading.fileDescriptor)) }
        func open() async throws -> Int32 {
            let reply = try await router.open("app:x", options(sent)).reply
            guard case .unixFD = reply["pipe"], case .int32(let pid) = reply["pid"] else { return 0 }
            return pid
        }
        var handler: Int32 = 0
        // The first opens also open what the processes keep.
        for _ in 0..<20 { handler = try await open() }
        try #require(handler > 0)
        let processes = [router.pid, handler]
        let before = try processes.map(openDescriptors)
        for _ in 0..<(count / 3) {
            async let first = open()
            async let second = open()
            async let third = open()
            #expect(try await [first, second, third] == [handler, handler, handler])
        }
        // An answer leaves a process before the process closes its own copy of a descriptor.
        for (process, before) in zip(processes, before) {
            try await eventually(try openDescriptors(of: process)) { $0 <= before }
        }
        print("\(count) opens: router \(before[0]) → \(try openDescriptors(of: router.pid))", terminator: ", ")
        print("handler \(before[1]) → \(try openDescriptors(of: handler))")
    }

    @Test func descriptorOfACallerThatLeavesReachesTheHandler() async throws {
        let router = try await RouterProcess([Self.id: ["gate"]])
        defer { router.stop() }
        let pipe = Pipe()
        pipe.fileHandleForWriting.write(Data("from the one that left".utf8))
        try pipe.fileHandleForWriting.close()
        let leaving = try await Connection.open(.address(router.bus.address), on: router.bus.makeLoop())
        var options = OpenOptions()
        options.annotation = .options(["file": .unixFD(UnixFD(owning: dup(pipe.fileHandleForReading.fileDescriptor)))])
        try await leaving.send(RouterInterface.openURL, on: RouterService.object, SentURL("app:x", options))
        await leaving.close()
        leaving.loop.stop()
        let gate = router.openGate(of: Self.id)
        defer { withExtendedLifetime(gate) {} }
        // The next URL comes behind the first.
        _ = try await router.open("app:y")
        #expect(try router.log(of: Self.id).contains("read from the one that left"))
    }

    @Test func descriptorCannotWaitInTheQueue() async throws {
        let router = try await RouterProcess([Self.id: []])
        defer { router.stop() }
        var options = options([UnixFD(owning: dup(STDERR_FILENO))])
        options.isQueued = true
        let error = try await router.failure("app:x", options)
        #expect(error == OpenURLError(.notQueued, "the annotation has a descriptor, which cannot be stored"))
        #expect(try router.log(of: Self.id).isEmpty)
    }

    @Test func commandAttachesAndSavesFiles() async throws {
        let router = try await RouterProcess([Self.id: ["pipe=from the handler"]])
        defer { router.stop() }
        let input = router.bus.directory.appending(path: "input")
        try Data("from the caller".utf8).write(to: input)
        let saved = router.bus.directory.appending(path: "saved").path
        let run = try await router.openurl(
            "open",
            "--annotation",
            "a=b",
            "--attach",
            "file=\(input.path)",
            "--save",
            "pipe=\(saved)",
            "--save",
            "text=-",
            "app:x"
        )
        #expect(run == CommandRun(status: 0, output: "from the caller", errors: ""))
        #expect(try String(contentsOfFile: saved, encoding: .utf8) == "from the handler")
        let streams = try await router.run([
            "sh", "-c", "printf streamed | $0 open --attach file=- --save text=- app:x; $0 open --save pipe=- app:x",
            RouterProcess.command.path,
        ])
        #expect(streams.output == "streamedfrom the handler", "\(streams.errors)")
        let missing = try await router.openurl("open", "--save", "none=-", "app:x")
        #expect(missing.status == 13)
        #expect(missing.errors == "openurl: the reply from \(Self.id) has no 'none'\n")
        let wrong = try await router.openurl("open", "--save", "pid=-", "app:x")
        #expect(wrong.status == 13)
        #expect(wrong.errors.contains("has the type 'i'; --save writes strings"))
        let before = try router.log(of: Self.id)
        for (option, file, status) in [
            ("--attach", "a=/nonexistent/file", 66), ("--save", "pipe=/nonexistent/file", 74),
        ] {
            let run = try await router.openurl("open", option, file, "app:x")
            #expect(run.status == status)
            #expect(run.errors == "openurl: /nonexistent/file: No such file or directory\n")
        }
        // The URL is not sent if a file cannot be opened.
        #expect(try router.log(of: Self.id) == before)
        #expect(try await router.openurl("open", "--save", "pipe=/dev/full", "app:x").status == 74)
        for arguments in [
            ["--queue", "--attach", "a=-"], ["--save", "a=-", "app:y"], ["--save", "a=-", "--json"],
            ["--attach", "a="], ["--attach", "a=-", "--annotation", "a=1"], ["--save", "a=x", "--save", "a=y"],
        ] {
            #expect(try await router.openurl(["open"] + arguments + ["app:x"]).status == 64)
        }
    }
}
