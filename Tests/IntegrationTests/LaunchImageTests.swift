import DBus
import Foundation
import OpenURL
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// What people see of a bundle: its images during a launch, its names, and its directories.
@Suite(.timeLimit(.minutes(5))) struct LaunchImageTests {
    private static let id = "com.example.app"

    /// Starts a router with a bundle.
    private func router(_ behaviour: [String] = [], _ extra: [String: Any] = [:]) async throws -> RouterProcess {
        // The test itself delays the launch, and may be slow on a busy machine.
        let extra = (["OULaunchTimeout": 300] as [String: Any]).merging(extra) { $1 }
        return try await RouterProcess { directory in
            try RouterProcess.write(Self.id, behaviour, in: directory, extra: extra)
            let handlers = directory.appending(path: "XDG_DATA_HOME/openurl/handlers")
            let bundle = handlers.appending(path: "App.app")
            let english = bundle.appending(path: "en.lproj")
            try FileManager.default.createDirectory(at: english, withIntermediateDirectories: true)
            try FileManager.default.moveItem(
                at: handlers.appending(path: "\(Self.id).plist"),
                to: bundle.appending(path: "Info.plist")
            )
            try Data(#""com.example.app" = "An app"; "A kind" = "A kind of file";"#.utf8)
                .write(to: english.appending(path: "InfoPlist.strings"))
            for image in ["Default.png", "Default-app.png", "en.lproj/Default-app.png"] {
                try Data().write(to: bundle.appending(path: image))
            }
        }
    }

    private func bundle(_ router: RouterProcess) -> String {
        router.bus.directory.appending(path: "XDG_DATA_HOME/openurl/handlers/App.app").path
    }

    @Test func launchIsAnnouncedWithTheImageOfItsScheme() async throws {
        let router = try await router(["gate"])
        defer { router.stop() }
        var begins = try await router.subscribed(LifecycleInterface.launchBegan).makeAsyncIterator()
        var ends = try await router.subscribed(LifecycleInterface.launchEnded).makeAsyncIterator()
        async let opened = router.open("app:x")
        let began = try #require(await begins.next())
        #expect(began.body.values == (Self.id, "app", "\(bundle(router))/en.lproj/Default-app.png"))
        let gate = router.openGate(of: Self.id)
        #expect(await ends.next()?.body == Self.id)
        #expect(try await opened.handler == Self.id)
        try gate.close()
    }

    /// The example's window needs an X server, which ends with the program, and the program ends with the bus.
    @Test func exampleShowsTheImageUntilTheHandlerIsReady() async throws {
        let router = try await router(["gate"])
        defer { router.stop() }
        var lines = try Self.runExample(router).makeAsyncIterator()
        #expect(await lines.next() == "waiting for launches")
        async let opened = router.open("app:x")
        #expect(await lines.next() == "\(Self.id) is being launched: \(bundle(router))/en.lproj/Default-app.png")
        let gate = router.openGate(of: Self.id)
        #expect(await lines.next() == "\(Self.id) is ready, or its launch has failed")
        #expect(try await opened.handler == Self.id)
        try gate.close()
    }

    @Test func exampleHidesTheImageIfTheRouterEnds() async throws {
        let router = try await router(["gate"])
        defer { router.stop() }
        var lines = try Self.runExample(router).makeAsyncIterator()
        #expect(await lines.next() == "waiting for launches")
        let opening = Task { try await router.open("app:x") }
        #expect(await lines.next()?.hasPrefix("\(Self.id) is being launched: ") == true)
        try await router.kill()
        #expect(await lines.next() == "\(Self.id) was being launched when the router ended")
        await #expect(throws: CallError.self) { try await opening.value }
        // The handler goes on, and ends with the bus.
        try router.openGate(of: Self.id).close()
    }

    /// Runs the example, and returns the lines that it writes.
    private static func runExample(_ router: RouterProcess) throws -> AsyncStream<String> {
        let example = URL(filePath: #filePath).appending(path: "../../../examples/gtk/launch-images")
            .standardizedFileURL
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["timeout", "--signal=KILL", "120", "xvfb-run", "-a", example.path]
        process.environment = router.bus.environment.merging(["GTK_A11Y": "none"]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return lines(of: output.fileHandleForReading)
    }

    /// Returns the lines that a program writes.
    private static func lines(of reader: FileHandle) -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        // Reading blocks, so it must not use a thread of the concurrency pool.
        Thread.detachNewThread {
            var rest = Data()
            while case let data = reader.availableData, !data.isEmpty {
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
                    rest = rest[(end + 1)...]
                }
            }
            continuation.finish()
        }
        return lines
    }

    @Test func launchWithoutAURLHasTheImageOfAllSchemes() async throws {
        let router = try await router(["gate"])
        defer { router.stop() }
        var begins = try await router.subscribed(LifecycleInterface.launchBegan).makeAsyncIterator()
        async let activated: Void = router.lifecycle(LifecycleInterface.activate, Self.id)
        #expect(try #require(await begins.next()).body.values == (Self.id, "", "\(bundle(router))/Default.png"))
        let gate = router.openGate(of: Self.id)
        try await activated
        try gate.close()
    }

    @Test func launchIntoTheBackgroundShowsNoImage() async throws {
        let router = try await router(["gate"])
        defer { router.stop() }
        var begins = try await router.subscribed(LifecycleInterface.launchBegan).makeAsyncIterator()
        var options = OpenOptions()
        options.inBackground = true
        async let opened = router.open("app:x", options)
        try await eventually(try await router.status(of: Self.id).pid) { $0 != nil }
        var gate = router.openGate(of: Self.id)
        #expect(try await opened.handler == Self.id)
        try await router.lifecycle(LifecycleInterface.terminate, Self.id)
        try gate.close()
        // The next launch, which has no URL, is the first that is announced.
        async let activated: Void = router.lifecycle(LifecycleInterface.activate, Self.id)
        #expect(try #require(await begins.next()).body.values.1 == "")
        gate = router.openGate(of: Self.id)
        try await activated
        try gate.close()
    }

    @Test func endOfAFailedLaunchIsAnnounced() async throws {
        let router = try await router(["gate"], ["OULaunchTimeout": 1])
        defer { router.stop() }
        var begins = try await router.subscribed(LifecycleInterface.launchBegan).makeAsyncIterator()
        var ends = try await router.subscribed(LifecycleInterface.launchEnded).makeAsyncIterator()
        async let failure = router.failure("app:x")
        #expect(try #require(await begins.next()).body.values.0 == Self.id)
        #expect(await ends.next()?.body == Self.id)
        #expect(try await failure.code == .timedOut)
    }

    @Test func explanationHasTheNamesAndTheImage() async throws {
        let types: [[String: Any]] = [["CFBundleTypeName": "A kind", "CFBundleTypeMIMETypes": ["text/plain"]]]
        let router = try await router([], ["CFBundleDocumentTypes": types])
        defer { router.stop() }
        let url = try await router.explain("app:x")
        #expect(url.urlName == "An app" && url.typeName == nil)
        #expect(url.launchImage == "\(bundle(router))/en.lproj/Default-app.png")
        let file = router.bus.directory.appending(path: "a.txt")
        try Data("a".utf8).write(to: file)
        let opened = try await router.explain("file://\(file.path)")
        #expect(opened.typeName == "A kind of file" && opened.urlName == nil)
        #expect(opened.launchImage == "\(bundle(router))/Default.png")
        let run = try await router.openurl("explain", "app:x")
        #expect(run.output.contains("An app"), "\(run)")
        let listed = try #require(try await router.handlers()[Self.id])
        #expect(listed.typeNames == ["A kind": "A kind of file"])
    }

    /// The handler's program is a shell, whose last line of output is the reason for its failure.
    @Test func handlerLearnsItsDirectories() async throws {
        let script = """
            for path in "$OPENURL_BUNDLE" "$OPENURL_DATA" "$OPENURL_CACHE" "$OPENURL_INBOX"
            do all="$all ${path#"${XDG_DATA_HOME%%/*}"/}"
            done
            echo "$all"
            exit 1
            """
        let router = try await RouterProcess { directory in
            let handlers = directory.appending(path: "XDG_DATA_HOME/openurl/handlers")
            let bundle = handlers.appending(path: "App.app")
            try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
            let manifest: [String: Any] = [
                "CFBundleIdentifier": "com.example.tool", "OUCommand": ["/bin/sh", "-c", script],
                "CFBundleURLTypes": [["CFBundleURLSchemes": ["tool"]]],
                "OUEnvironment": ["OPENURL_DATA": "the manifest's"],
            ]
            try PropertyListSerialization.data(fromPropertyList: manifest, format: .xml, options: 0)
                .write(to: bundle.appending(path: "Info.plist"))
        }
        defer { router.stop() }
        let message = try await router.failure("tool:x").message
        let data = "XDG_DATA_HOME/com.example.tool"
        let places = "XDG_DATA_HOME/openurl/handlers/App.app \(data) XDG_CACHE_HOME/com.example.tool \(data)/Inbox"
        #expect(message.contains(places), "\(message)")
    }
}

extension RouterProcess {
    fileprivate func explain(_ url: String) async throws(CallError) -> Explanation {
        try await connection.call(RouterInterface.explain, on: RouterService.object, Arguments(url, OpenOptions()))
    }
}
