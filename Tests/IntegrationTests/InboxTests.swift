import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Files that are sent into the inbox of a handler, with real programs.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(
        if: FileManager.default.fileExists(atPath: "/usr/share/mime/mime.cache"),
        "there is no shared MIME database"
    )
)
struct InboxTests {
    private let id = "com.example.viewer"

    private func router() async throws -> RouterProcess {
        try await RouterProcess { directory in
            try FileManager.default.createSymbolicLink(
                atPath: directory.appending(path: "XDG_DATA_DIRS/mime").path,
                withDestinationPath: "/usr/share/mime"
            )
            let types = ["CFBundleDocumentTypes": [["LSItemContentTypes": ["public.png"]]]]
            try RouterProcess.write(id, [], in: directory, extra: types)
            try RouterProcess.write("com.example.none", [], in: directory)
        }
    }

    private func inbox(_ router: RouterProcess) -> String { "\(router.bus.directory.path)/XDG_DATA_HOME/\(id)/Inbox" }

    private func names(_ router: RouterProcess) throws -> [String] {
        guard FileManager.default.fileExists(atPath: inbox(router)) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: inbox(router)).sorted()
    }

    private func write(_ name: String, _ text: String, in router: RouterProcess) throws -> String {
        let file = router.bus.directory.appending(path: name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    private func lines(_ run: CommandRun) -> [Substring] { run.output.split(separator: "\n") }

    private func opened(_ router: RouterProcess) throws -> [String] {
        try router.log(of: id).filter { $0.hasPrefix("open ") }.map { String($0.dropFirst(5)) }
    }

    @Test func sentFilesArriveInTheInbox() async throws {
        let router = try await router()
        defer { router.stop() }
        let (one, two) = (try write("a b.png", "one", in: router), try write("-rf.png", "two", in: router))
        let run = try await router.openurl("send", "--to", id, "--json", "--", one, two, one)
        #expect(run.status == 0, "\(run.errors)")
        #expect(lines(run).count == 3 && run.output.contains(#""handler":"\#(id)""#))
        #expect(try names(router) == ["-rf.png", "a b-1.png", "a b.png"])
        #expect(try String(contentsOfFile: "\(inbox(router))/a b-1.png", encoding: .utf8) == "one")
        let base = "file://\(inbox(router))"
        #expect(try opened(router) == ["a%20b.png", "-rf.png", "a%20b-1.png"].map { "\(base)/\($0)" })
    }

    @Test func fileThatIsNotOpenedLeavesNoCopy() async throws {
        let router = try await router()
        defer { router.stop() }
        let text = try write("note.txt", "text", in: router)
        #expect(try await router.openurl("send", "--to", id, text).status == 3)
        #expect(try await router.openurl("send", "--to", "com.example.none", text).status == 3)
        #expect(try await router.openurl("send", "--to", "com.example.missing", text).status == 3)
        #expect(try names(router) == [])
    }

    @Test func onlyOpenableRegularFilesAreSent() async throws {
        let router = try await router()
        defer { router.stop() }
        let directory = router.bus.directory.path
        try #require(mkfifo("\(directory)/fifo.png", 0o600) == 0)
        try FileManager.default.createSymbolicLink(atPath: "\(directory)/link.png", withDestinationPath: "/etc/passwd")
        for name in ["fifo.png", "link.png", "missing.png", "."] {
            let run = try await router.openurl("send", "--to", id, "\(directory)/\(name)")
            #expect(run.status == 66, "\(name): \(run.errors)")
        }
        // These have names that no inbox takes.
        let refusals = [(".a.png", "a file in an inbox cannot be hidden"), ("a\nb.png", "its name contains U+000A")]
        for (name, reason) in refusals {
            let file = try write(name, "x", in: router)
            let run = try await router.openurl("send", "--to", id, file)
            #expect(run.status == 66 && run.errors.contains(reason), "\(run.errors)")
        }
        #expect(try names(router) == [])
    }

    @Test func namesAndDescriptorsOfTheBusAreChecked() async throws {
        let router = try await router()
        defer { router.stop() }
        let path = try write("a.png", "x", in: router)
        var ends: [CInt] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[1]) }
        var files = ["../x.png", "/etc/x.png", "..", "a\nb.png", String(repeating: "x", count: 300), "good.png"].map {
            SentFile(name: $0, descriptor: UnixFD(owning: open(path, O_RDONLY | O_CLOEXEC)))
        }
        files.append(SentFile(name: "pipe.png", descriptor: UnixFD(owning: ends[0])))
        var options = OpenOptions()
        options.handler = id
        let outcomes = try await router.connection.call(
            RouterInterface.openFiles,
            on: RouterService.object,
            Arguments(files, options),
            timeout: .seconds(60)
        )
        let opened = outcomes.map { if case .opened = $0 { true } else { false } }
        #expect(opened == [false, false, false, false, false, true, false])
        #expect(try names(router) == ["good.png"])
        // Without a handler, there is no inbox.
        await #expect(throws: CallError.self) {
            try await router.connection.call(
                RouterInterface.openFiles,
                on: RouterService.object,
                Arguments([files[5]], OpenOptions())
            )
        }
    }

    /// The copy would be on this host.
    @Test func filesForAnotherHostAreRefused() async throws {
        let router = try await router()
        defer { router.stop() }
        let file = open(try write("a.png", "x", in: router), O_RDONLY | O_CLOEXEC)
        try await router.connection.call(HostsInterface.add, on: RouterService.object, Arguments("far", "ssh:box"))
        var options = OpenOptions()
        options.handler = id
        options.host = HostName(rawValue: "far")
        await #expect(throws: CallError.self) {
            try await router.connection.call(
                RouterInterface.openFiles,
                on: RouterService.object,
                Arguments([SentFile(name: "a.png", descriptor: UnixFD(owning: file))], options)
            )
        }
        #expect(try names(router) == [])
    }

    @Test func aThousandFilesReachAHandlerThatDoesNotRun() async throws {
        let router = try await router()
        defer { router.stop() }
        let path = try write("a.png", "picture", in: router)
        let run = try await router.openurl(["send", "--to", id] + Array(repeating: path, count: 1000))
        #expect(run.status == 0, "\(run.errors.prefix(300))")
        let urls = try opened(router)
        #expect(urls.count == 1000 && Set(urls).count == 1000)
        #expect(try Set(urls) == Set(names(router).map { "file://\(inbox(router))/\($0)" }))
    }

    /// The router is killed while files are on their way. Each copy is whole, and each file that was queued arrives.
    @Test(arguments: [false, true]) func deathOfTheRouterLeavesNoHalfFile(_ isQueued: Bool) async throws {
        let router = try await router()
        defer { router.stop() }
        let text = String(repeating: "0123456789", count: 100_000)
        let path = try write("a.png", text, in: router)
        let queue = isQueued ? ["--queue"] : []
        let states = try await router.states()
        async let sending = router.openurl(["send", "--json", "--to", id] + queue + Array(repeating: path, count: 200))
        // The first file has started the handler when the router dies.
        _ = try await states.next(of: id)
        kill(router.pid, SIGKILL)
        let run = try await sending
        let reported = lines(run).count { $0.contains(#""handler""#) }
        #expect(reported < 200)
        #expect(lines(run).count == 200)
        for name in try self.names(router) {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(inbox(router))/\(name)")
            #expect(attributes[.size] as? Int == text.utf8.count, "\(name)")
        }
        let names2 = try FileManager.default.contentsOfDirectory(atPath: inbox(router))
        #expect(names2.allSatisfy { !$0.hasPrefix(".") })
        guard isQueued else {
            #expect(try opened(router).count >= reported)
            return
        }
        try await router.startNext()
        try await eventually(await router.queuedURLs()) { $0.isEmpty }
        #expect(try Set(opened(router)).count >= reported)
    }
}
