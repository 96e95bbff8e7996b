import DBus
import Foundation
import OpenURL
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Callers and handlers in other languages, and hostile callers.
@Suite(.timeLimit(.minutes(10))) struct ClientTests {
    private func run(_ router: RouterProcess, _ arguments: [String]) throws -> (status: Int32, output: String) {
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.environment = router.bus.environment
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    @Test func gdbusAndBusctlAndPythonCanOpenURLs() async throws {
        let router = try await RouterProcess(["com.example.any": []])
        defer { router.stop() }
        let gdbus = try run(
            router,
            [
                "gdbus", "call", "--session", "--dest", "org.openurl.Router1", "--object-path", "/org/openurl/Router1",
                "--method", "org.openurl.Router1.OpenURL", "any:gdbus", "{'timeout': <uint32 9000>}",
            ]
        )
        #expect(gdbus.status == 0)
        #expect(gdbus.output.contains("'handler': <'com.example.any'>"))
        let busctl = try run(
            router,
            [
                "busctl", "--user", "call", "org.openurl.Router1", "/org/openurl/Router1", "org.openurl.Router1",
                "CanOpenURL", "s", "any:x",
            ]
        )
        #expect(busctl.output == "b true\n", "\(busctl.output)")
        let requester = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../examples/python/requester").standardizedFileURL
        let python = try run(router, [requester.path, "any:python"])
        #expect(python.status == 0 && python.output.hasPrefix("com.example.any took it (active)\n"), "\(python)")
        let opened = try router.log(of: "com.example.any").filter { $0.hasPrefix("open") }
        #expect(opened == ["open any:gdbus", "open any:python"])
    }

    @Test func textIsOpenedAsAURL() async throws {
        let router = try await RouterProcess(["com.example.any": []])
        defer { router.stop() }
        let client = OpenURLClient(connection: router.connection)
        for text in ["any:Buy%20milk", "ANY://host/a;b?c#d"] {
            #expect(try await client.open(text).handler == "com.example.any")
            #expect(try router.log(of: "com.example.any").contains("open \(text)"))
        }
        for (text, offset) in [
            ("", 0), ("any:a b", 5), ("any:ü", 4), ("any:%zz", 4), ("any:a\u{0}", 5), ("any:a\nb", 5),
        ] {
            do {
                let result = try await client.open(text)
                Issue.record("\(text) was opened by \(result.handler)")
            } catch OpenURLClientError.notOpened(let error) {
                #expect(error.code == .malformedURL)
                #expect(error.message.hasPrefix("at byte offset \(offset): "), "\(error.message)")
            }
        }
        // A text without a scheme is a reference, which no handler can have.
        await #expect(throws: OpenURLClientError.self) { try await client.open("Buy%20milk") }
        // The library refuses a text itself, so nothing of it reaches the router.
        #expect(try router.log(of: "com.example.any").filter { $0.hasPrefix("open") }.count == 2)
    }

    @Test func programWithoutDictionariesCanOpenURLs() async throws {
        let router = try await RouterProcess(["com.example.any": []])
        defer { router.stop() }
        let call = [
            "dbus-send", "--session", "--print-reply=literal", "--reply-timeout=60000", "--dest=org.openurl.Router1",
            "/org/openurl/Router1", "org.openurl.Router1.Open",
        ]
        let result = try run(router, call + ["string:any:x"])
        #expect(result.output.hasSuffix(" com.example.any"), "\(result.output)")
        let failure = try run(router, call + ["string:unclaimed:x"])
        #expect(failure.output.hasPrefix("Error org.openurl.Error.NoHandler:"), "\(failure.output)")
    }

    @Test func introspectionDescribesEveryInterface() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let result = try run(
            router,
            [
                "gdbus", "introspect", "--session", "--dest", "org.openurl.Router1", "--object-path",
                "/org/openurl/Router1",
            ]
        )
        #expect(result.status == 0)
        for line in [
            "interface org.openurl.Router1 {", "OpenURL(in  s url,", "in  a{sv} options,", "out a{sv} result);",
            "OpenURLs(in  as urls,", "CanOpenURL(in  s url,", "readonly s Version", "interface org.openurl.Registry1 {",
            "Register(in  s path,", "Changed(as schemes);", "interface org.openurl.Lifecycle1 {",
            "interface org.freedesktop.DBus.Properties {", "interface org.freedesktop.DBus.Peer {",
        ] {
            #expect(result.output.contains(line), "\(line)")
        }
    }

    @Test func pythonHandlerIsLaunchedAndGetsItsURL() async throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../examples/python/python-handler").standardizedFileURL
        let router = try await RouterProcess { directory in
            try RouterProcess.write(
                "com.example.python",
                [],
                in: directory,
                extra: [
                    "CFBundleExecutable": script.path, "OUArguments": ["com.example.python"],
                ]
            )
        }
        defer { router.stop() }
        let result = try await router.open("python:yes")
        #expect(result.way == .launched)
        #expect(result.reply == ["url": "python:yes", "sender-pid": .uint32(UInt32(getpid()))])
        #expect(try await router.failure("python:no") == OpenURLError(.declined, "com.example.python declined the URL"))
        let raised = OpenURLError(.declined, "com.example.python declined the URL: it does not fit")
        #expect(try await router.failure("python:raise") == raised)
    }

    @Test func wrongArgumentsAreAnError() async throws {
        let router = try await RouterProcess(["com.example.strict": []])
        defer { router.stop() }
        let call = [
            "busctl", "--user", "call", "org.openurl.Router1", "/org/openurl/Router1", "org.openurl.Router1", "OpenURL",
        ]
        for arguments in [
            ["s", "strict:x"], ["sa{ss}", "strict:x", "0"], ["sa{sv}", "strict:x", "1", "timeout", "s", "soon"],
            ["sa{sv}", "strict:x", "1", "handler", "u", "1"], ["sa{sv}", "strict:x", "1", "fallback", "s", "x"],
            ["sa{sv}", "strict:x", "1", "delivery", "s", "never"],
        ] {
            let result = try run(router, call + arguments)
            #expect(result.status != 0 && result.output.contains("rong arguments"), "\(arguments): \(result.output)")
        }
        let unknown = try run(router, call + ["sa{sv}", "strict:x", "1", "from-the-future", "i", "1"])
        #expect(unknown.status == 0)
        #expect(try router.log(of: "com.example.strict").filter { $0.hasPrefix("open") } == ["open strict:x"])
    }

    /// A hostile client writes messages to its socket that no library would send.
    @Test func invalidRawMessagesDoNotHarmTheRouter() async throws {
        let router = try await RouterProcess(["com.example.target": []])
        defer { router.stop() }
        let script = try #require(
            Bundle.module.url(forResource: "hostile-client", withExtension: nil, subdirectory: "Handlers")
        )
        let result = try run(router, ["/usr/bin/python3", script.path])
        #expect(result.status == 0, "\(result.output)")
        #expect(try await router.open("target:alive").handler == "com.example.target")
    }

    @Test func urlOfTenMegabytesIsRefusedAndTheRouterStaysSmall() async throws {
        let router = try await RouterProcess(["com.example.huge": []])
        defer { router.stop() }
        _ = try await router.open("huge:x")
        let before = try Usage(of: router.pid)
        let huge = "huge:" + String(repeating: "x", count: 10_000_000)
        for _ in 0..<5 {
            await #expect {
                try await router.open(huge)
            } throws: { error in
                guard case CallError.remote(let error) = error else { return false }
                return error.name == .limitsExceeded
            }
        }
        let after = try Usage(of: router.pid)
        #expect(after.residentBytes < before.residentBytes + (40 << 20))
        #expect(try await router.open("huge:y").way == .active)
    }
}
