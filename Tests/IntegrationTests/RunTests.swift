import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Programs that `openurl run` starts as handlers for a while, with real processes.
@Suite(.timeLimit(.minutes(10))) struct RunTests {
    private static let old = "com.example.app"
    private static let build = "com.example.build"

    /// Starts a router whose handler of `app` is the user's default, and which the bus can start again.
    ///
    /// - Parameter isGiven: whether the user lets programs have the scheme `app` of the handler.
    private func router(isGiven: Bool = true) async throws -> RouterProcess {
        let router = try await RouterProcess([Self.old: []]) { directory in
            let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
            try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
            let program = RouterProcess.products.appending(path: "openurld").path
            try Data("[D-BUS Service]\nName=org.openurl.Router1\nExec=\(program)\n".utf8)
                .write(to: services.appending(path: "org.openurl.Router1.service"))
        }
        try await router.waitUntilPublished(Self.old)
        #expect(try await router.openurl("default", "app", Self.old).status == 0)
        if isGiven { #expect(try await router.openurl("policy", "allow", "--source", "user", "app").status == 0) }
        return router
    }

    /// Starts `openurl run` with the test handler, and returns when the handler has its name.
    private func run(
        _ router: RouterProcess,
        _ id: String = Self.build,
        _ schemes: [String] = ["app"],
        _ arguments: [String] = []
    ) async throws -> Runner {
        let process = runner(router, ["--claim"] + schemes + ["--handler", id], id, arguments)
        try await RouterProcess.waitForOwner(of: #require(BusName(id)), on: router.connection) { try process.start() }
        return process
    }

    private func runner(
        _ router: RouterProcess,
        _ options: [String],
        _ id: String,
        _ arguments: [String]
    ) -> Runner {
        let program = RouterProcess.products.appending(path: "testhandler").path
        let log = router.bus.directory.appending(path: "\(id).log").path
        return Runner(options + ["--", program, id, log] + arguments, router)
    }

    /// A run of `openurl run`.
    private struct Runner {
        let process = ChildProcess()
        private let errors = Pipe()
        private let ends: AsyncStream<Int32>

        init(_ arguments: [String], _ router: RouterProcess) {
            let (ends, continuation) = AsyncStream<Int32>.makeStream()
            self.ends = ends
            process.executableURL = RouterProcess.command
            process.arguments = ["run"] + arguments
            process.environment = router.bus.environment
            process.currentDirectoryURL = router.bus.directory
            process.standardError = errors
            process.standardOutput = FileHandle.nullDevice
            process.terminationHandler = { process in
                let status = process.terminationStatus
                continuation.yield(process.terminationReason == .exit ? status : 128 + status)
            }
        }

        /// The lines of standard error, to its end.
        var errorLines: AsyncStream<String> {
            let (lines, continuation) = AsyncStream<String>.makeStream()
            let reader = errors.fileHandleForReading
            // A thread of its own may wait for the command.
            Thread.detachNewThread {
                var rest = Data()
                while case let data = reader.availableData, !data.isEmpty {
                    rest += data
                    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                        continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
                        rest = Data(rest[(end + 1)...])
                    }
                }
                continuation.finish()
            }
            return lines
        }

        func start() throws { try process.run() }

        func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

        /// The exit status, when the command has ended, as a shell shows it. A signal to a command that has not started the
        /// program yet ends it as any other program.
        var status: Int32? {
            get async { await ends.first { _ in true } }
        }
    }

    /// Returns when the claim has ended, which the router announces.
    private func waitForEnd(
        _ changes: SignalSequence<[String]>,
        _ router: RouterProcess
    ) async throws {
        try await changes.next { $0.body.contains("app") }
        try await eventually(await router.schemes()["app"]) { $0 == [Self.old] }
    }

    /// The files below the user's directories, which a claim leaves as they are.
    private func files(_ router: RouterProcess) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in ["XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
            let directory = router.bus.directory.appending(path: name)
            let paths = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
            while let file = paths?.nextObject() as? URL {
                if !file.hasDirectoryPath { files[file.path] = try Data(contentsOf: file) }
            }
        }
        return files
    }

    @Test func programGetsItsSchemesWhileItRuns() async throws {
        let router = try await router()
        defer { router.stop() }
        #expect(try await router.open("app:1").handler == Self.old)
        let before = try files(router)
        let changes = try await router.changes()
        let process = try await run(router)
        #expect(try await changes.next { _ in true }.body == ["app"])
        let opened = try await router.open("app:2")
        #expect(opened.handler == Self.build)
        #expect(try router.log(of: Self.build).contains("open app:2"))
        #expect(try await router.schemes()["app"] == [Self.build, Self.old])
        #expect(try await router.handlers()[Self.build]?.temporary == .known(.claim))
        #expect(try await router.status(of: Self.build).temporary == .known(.claim))
        let status = try await router.openurl("status").errors
        #expect(status.contains("\(Self.build) claims its schemes while its program runs"), "\(status)")
        let explanation = try await router.openurl("explain", "app:x").output
        #expect(explanation.contains("'openurl run' started comes first while it runs"), "\(explanation)")
        #expect(try files(router) == before)
        try await router.lifecycle(LifecycleInterface.terminate, Self.build)
        #expect(await process.status == 0)
        try await waitForEnd(changes, router)
        #expect(try await router.open("app:3").handler == Self.old)
        #expect(try files(router) == before)
    }

    @Test(arguments: [SIGKILL, SIGTERM, SIGHUP])
    func endOfTheCommandEndsTheClaimAndTheProgram(_ signal: Int32) async throws {
        let router = try await router()
        defer { router.stop() }
        let changes = try await router.changes()
        let process = try await run(router)
        #expect(try await router.open("app:1").handler == Self.build)
        try await router.waitUntilNameIsFree(Self.build) { process.send(signal) }
        try await waitForEnd(changes, router)
        #expect(try await router.open("app:2").handler == Self.old)
    }

    @Test func crashOfTheProgramEndsTheClaim() async throws {
        let router = try await router()
        defer { router.stop() }
        let changes = try await router.changes()
        let process = try await run(router, Self.build, ["app"], ["crash=now"])
        #expect(try await router.failure("app://now").code == .handlerCrashed)
        #expect(try #require(await process.status) > 128)
        try await waitForEnd(changes, router)
        #expect(try await router.open("app:2").handler == Self.old)
    }

    @Test func claimIsMadeAgainWhenTheRouterCrashes() async throws {
        let router = try await router()
        defer { router.stop() }
        let process = try await run(router)
        let opened = try await router.open("app:1")
        try await router.kill()
        // The command starts the next router, whose first answer may come before the claim.
        try await eventually(await router.schemes()["app"]) { $0?.first == Self.build }
        let again = try await router.open("app:2")
        #expect(again.handler == Self.build && again.reply["pid"] == opened.reply["pid"])
        // A router that ends for good takes the claim with it.
        process.send(SIGKILL)
        try await eventually(await router.schemes()["app"]) { $0 == [Self.old] }
        #expect(try await router.open("app:3").handler == Self.old)
    }

    @Test func urlWaitsForTheNameOfTheProgram() async throws {
        let router = try await router()
        defer { router.stop() }
        let changes = try await router.changes()
        let process = runner(router, ["--claim", "app", "--handler", Self.build], Self.build, ["startDelay=500"])
        try process.start()
        try await changes.next { $0.body.contains("app") }
        #expect(try await router.schemes()["app"]?.first == Self.build)
        #expect(try await router.open("app:1").handler == Self.build)
        process.send(SIGTERM)
        #expect(await process.status == 0)
    }

    @Test func urlFailsIfTheProgramNeverTakesTheName() async throws {
        let router = try await router()
        defer { router.stop() }
        let changes = try await router.changes()
        let process = Runner(["--claim", "app", "--handler", Self.build, "--", "sleep", "600"], router)
        try process.start()
        try await changes.next { $0.body.contains("app") }
        #expect(try await router.schemes()["app"]?.first == Self.build)
        async let failure = router.failure("app:1")
        // The command ends while the URL waits.
        try await eventually(await router.status(of: Self.build)) { $0.state == .known(.inactive) }
        process.send(SIGTERM)
        #expect(try await failure.code == .launchFailed)
        let status = await process.status
        #expect(status == 128 + SIGTERM)
        try await waitForEnd(changes, router)
        #expect(try await router.open("app:2").handler == Self.old)
    }

    @Test func commandTellsTheNameOfTheProgram() async throws {
        let router = try await router()
        defer { router.stop() }
        let process = runner(router, ["--claim", "app", "--handler", Self.build], Self.build, [])
        var lines = process.errorLines.makeAsyncIterator()
        try process.start()
        let line = try #require(await lines.next())
        let pid = try #require(try await router.open("app:1").reply["pid"]?.int)
        #expect(line == "openurl: app goes to process \(pid) (\(Self.build)) until it exits")
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        #expect(log.contains("started by 'openurl run'") && !log.contains("started by hand"), "\(log)")
        process.send(SIGTERM)
        #expect(await process.status == 0)
    }

    @Test func commandAndErrorTellTheNamesThatTheProgramTook() async throws {
        let router = try await router()
        defer { router.stop() }
        let other = "com.example.greeter"
        let process = runner(router, ["--claim", "app", "--handler", Self.build], other, [])
        var lines = process.errorLines.makeAsyncIterator()
        try await RouterProcess.waitForOwner(of: #require(BusName(other)), on: router.connection) {
            try process.start()
        }
        let error = try await router.failure("app:1")
        #expect(error.code == .launchFailed)
        let words =
            "did not take the name \(Self.build) on the bus within 5 seconds, but took \(other); it must take"
        #expect(error.message.contains("the program that 'openurl run' started \(words)"), "\(error.message)")
        let line = try #require(await lines.next())
        #expect(line.hasPrefix("openurl: warning: the program \(words)"), "\(line)")
        process.send(SIGTERM)
        _ = await process.status
    }

    @Test func exampleOfTheUsageIsAccepted() async throws {
        let router = try await router()
        defer { router.stop() }
        for arguments in [["run", "--claim", "free"], ["run", "--claim", "free", "--", "true"]] {
            let refusal = try await router.openurl(arguments)
            #expect(refusal.status == 64)
            let example = try #require(
                refusal.errors.split(separator: "as in 'openurl ").last?.split(separator: "'").first
            )
            // The program of the example is not there, and its scheme has a handler.
            #expect(try await router.openurl("policy", "allow", "--source", "user", "todolist").status == 0)
            let words = example.split(separator: " ").map { $0 == "./app" ? "true" : String($0) }
            #expect(try await router.openurl(words).status == 0, "\(example)")
        }
    }

    /// A claim asks for the same as a wait for callbacks.
    @Test func claimOfASchemeThatAHandlerHasNeedsARule() async throws {
        let router = try await router(isGiven: false)
        defer { router.stop() }
        let claim = ["run", "--claim", "app", "--handler", Self.build, "--", "true"]
        let refusal = try await router.openurl(claim)
        let advice = "'openurl policy allow --source user app' allows it"
        #expect(refusal.status == 7)
        #expect(refusal.errors.contains("the URLs of app: belong to \(Self.old); \(advice)"), "\(refusal.errors)")
        let waiting = try await router.openurl("callback", "--timeout", "1", "x:?redirect_uri=app:")
        #expect(waiting.status == 7)
        #expect(waiting.errors.contains("the URLs of app: belong to \(Self.old); \(advice)"), "\(waiting.errors)")
        // Another program under the handler's identifier needs the rule, too; the handler's own program has the scheme already.
        let other = try await router.openurl("run", "--claim", "app", "--handler", Self.old, "--", "true")
        #expect(other.status == 7 && other.errors.contains(advice), "\(other.errors)")
        let own = try await run(router, Self.old)
        own.send(SIGTERM)
        #expect(await own.status != 7)
        #expect(try await router.openurl("policy", "allow", "--source", "user", "app").status == 0)
        #expect(try await router.openurl(claim).status == 0)
    }

    @Test func claimIsNeverAWayToOtherSchemesOrNames() async throws {
        let router = try await router()
        defer { router.stop() }
        func refusal(_ id: String, _ schemes: String...) async throws -> CommandRun {
            try await router.openurl(["run", "--claim"] + schemes + ["--handler", id, "--", "true"])
        }
        for scheme in ["http", "https", "mailto", "file", "javascript", "openurl-reply"] {
            #expect(try await refusal(Self.build, "free", scheme).status == 7, "\(scheme)")
        }
        #expect(try await refusal("org.openurl.system.browser", "free").status == 64)
        #expect(try await refusal("org.freedesktop.portal.Desktop", "free").status == 64)
        #expect(try await refusal(Self.build, "1st").errors.contains("'1st'"))
        for decision in ["deny", "ask"] {
            #expect(try await router.openurl("policy", decision, "--source", "user", "app").status == 0)
            #expect(try await refusal(Self.build, "app").status == 7, "\(decision)")
        }
        #expect(try await router.openurl("policy", "allow", "--source", "user", "app").status == 0)
        // A handler that runs already keeps its name, and a running claim its schemes.
        _ = try await router.open("app:1")
        let running = try await refusal(Self.old, "free")
        #expect(running.status == 12 && running.errors.contains("'openurl terminate \(Self.old)' ends it"))
        let process = try await run(router)
        #expect(try await refusal("com.example.other", "app").status == 12)
        #expect(try await refusal(Self.build, "free").status == 12)
        #expect(try await router.openurl("unregister", Self.build).status == 7)
        #expect(try await router.openurl("default", "app", Self.build).errors.contains("only temporarily"))
        process.send(SIGTERM)
        #expect(await process.status == 0)
        #expect(try await router.schemes()["free"] == nil)
    }

    @Test func registeredHandlerRunsFromItsBuild() async throws {
        let router = try await router()
        defer { router.stop() }
        // The build is a bundle with the identifier of the registered handler.
        let bundle = router.bus.directory.appending(path: "Build.app")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        let manifest = ["CFBundleIdentifier": Self.old, "CFBundleExecutable": "app"]
        try PropertyListSerialization.data(fromPropertyList: manifest, format: .xml, options: 0)
            .write(to: bundle.appending(path: "Info.plist"))
        try FileManager.default.copyItem(
            at: RouterProcess.products.appending(path: "testhandler"),
            to: bundle.appending(path: "app")
        )
        let log = router.bus.directory.appending(path: "build.log").path
        let process = Runner(["--claim", "other", "--", "./Build.app/app", Self.old, log], router)
        let name = try #require(BusName(Self.old))
        try await RouterProcess.waitForOwner(of: name, on: router.connection) { try process.start() }
        #expect(try await router.open("other:1").handler == Self.old)
        #expect(try await router.open("app:1").handler == Self.old)
        #expect(try String(contentsOfFile: log, encoding: .utf8).contains("open other:1"))
        let entry = try #require(try await router.handlers()[Self.old])
        #expect(entry.executable == bundle.appending(path: "app").path && Set(entry.schemes) == ["app", "other"])
        try await router.waitUntilNameIsFree(Self.old) { process.send(SIGTERM) }
        #expect(await process.status == 0)
        try await eventually(await router.schemes()["other"]) { $0 == nil }
        #expect(try await router.open("app:2").way == .launched)
        #expect(try router.log(of: Self.old).contains("open app:2"))
    }

    @Test func statusIsThatOfTheProgram() async throws {
        let router = try await router()
        defer { router.stop() }
        let options = ["run", "--claim", "free", "--handler", Self.build, "--"]
        #expect(try await router.openurl(options + ["sh", "-c", "exit 7"]).status == 7)
        #expect(try await router.openurl(options + ["sh", "-c", "kill -KILL $$"]).status == 128 + SIGKILL)
        let missing = try await router.openurl(options + ["/nonexistent"])
        #expect(missing.status == 4 && missing.errors.contains("/nonexistent cannot be started"))
        let unnamed = try await router.openurl("run", "--claim", "free", "--", "true")
        #expect(unnamed.status == 64 && unnamed.errors.contains("give it with '--handler ID'"))
        let noProgram = try await router.openurl("run", "--claim", "free", "./app")
        #expect(noProgram.status == 64 && noProgram.errors.contains("after '--'"))
        #expect(try await router.schemes()["free"] == nil)
    }
}

extension RouterProcess {
    /// Runs `body`, and returns when a name has no owner.
    func waitUntilNameIsFree(_ id: String, after body: () throws -> Void) async throws {
        let name = try #require(BusName(id))
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        let watch = try await connection.watchName(name) { _, new in continuation.yield(new) }
        try body()
        continuation.yield(try await connection.owner(of: name))
        for await owner in owners where owner == nil { break }
        try await connection.unwatchName(watch)
    }
}
