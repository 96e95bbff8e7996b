import Foundation
import Glibc
import PrivateBus
import Reactor
import TestSupport
import Testing

@testable import DBus

/// Interoperation with other implementations: GLib's, systemd's and the Python bindings of libdbus.
@Suite(.timeLimit(.minutes(10))) struct InteroperationTests {
    @Test func gdbusCallsAndListens() async throws {
        try await withPair { (pair: Pair) async throws in
            let call = [
                "gdbus", "call", "--session", "--dest", Echo.name.rawValue, "--object-path", Echo.path.rawValue,
                "--method",
            ]
            #expect(try run(call + ["com.example.Echo1.String", "ß"], on: pair.bus) == "('ß',)\n")
            let values = "[<uint32 1>, <'a'>, <[(true, 'b')]>, <{'k': <3.5>}>]"
            #expect(
                try run(call + ["com.example.Echo1.Values", values], on: pair.bus)
                    == "([<uint32 1>, <'a'>, <[(true, 'b')]>, <{'k': <3.5>}>],)\n"
            )
            #expect(try run(call + ["org.freedesktop.DBus.Peer.Ping"], on: pair.bus) == "()\n")
        }
    }

    @Test func busctlCallsReadsAndSets() async throws {
        try await withPair { (pair: Pair) async throws in
            let address = ["busctl", "--address=\(pair.bus.address)"]
            let object = [Echo.name.rawValue, Echo.path.rawValue, Echo.interface.rawValue]
            #expect(try run(address + ["call"] + object + ["String", "s", "a b"], on: pair.bus) == "s \"a b\"\n")
            #expect(try run(address + ["get-property"] + object + ["Volume"], on: pair.bus) == "u 5\n")
            #expect(try run(address + ["set-property"] + object + ["Volume", "u", "7"], on: pair.bus) == "")
            #expect(try run(address + ["get-property"] + object + ["Volume"], on: pair.bus) == "u 7\n")
            let members = try run(address + ["introspect"] + object, on: pair.bus)
            #expect(members.contains(".Volume") && members.contains("writable") && members.contains(".Played"))
        }
    }

    @Test func pythonServiceAnswersCallsAndItsSignalsArrive() async throws {
        try await withPair { (pair: Pair) async throws in
            let service = try pythonProgram("merging_service")
            let name: BusName = "com.example.Python"
            let (owners, owned) = AsyncStream.makeStream(of: Bool.self)
            let watch = try await pair.client.watchName(name) { _, new in owned.yield(new != nil) }
            let process = ChildProcess()
            process.executableURL = URL(filePath: "/usr/bin/python3")
            process.arguments = ["-c", service]
            process.environment = pair.bus.environment
            process.terminationHandler = { _ in owned.yield(false) }
            try process.run()
            var iterator = owners.makeAsyncIterator()
            guard await iterator.next() == true else {
                withKnownIssue("python3-dbus or python3-gi is not installed") { Issue.record("no service") }
                return
            }
            let merge = Method<Arguments<String, [String: Value]>, [String: Value]>("com.example.Python1", "Merge")
            let object = RemoteObject(name, "/python")
            let signals = try await pair.client.signals(
                Signal<String>("com.example.Python1", "Merged"),
                matching: MatchRule(sender: name)
            )
            let merged = try await pair.client.call(merge, on: object, Arguments("k", ["a": .double(0.5)]))
            #expect(merged == ["a": .double(0.5), "k": .structure([.uint32(1), "b"])])
            var signal = signals.makeAsyncIterator()
            #expect(await signal.next()?.body == "k")
            await #expect(throws: CallError.remote(RemoteError("com.example.Error.Python", "because"))) {
                try await pair.client.call(Method<Empty, Empty>("com.example.Python1", "Fail"), on: object, Empty())
            }
            process.terminate()
            #expect(await iterator.next() == false)
            process.waitUntilExit()
            try await pair.client.unwatchName(watch)
        }
    }

    /// The filter that Flatpak puts between a sandbox and the bus ends a connection whose serials do not increase.
    @Test func filteringProxyPassesTheMessages() async throws {
        try await withPair { (pair: Pair) async throws in
            let directory = FileManager.default.temporaryDirectory.appending(path: "proxy \(UUID().uuidString)")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)

            let socket = directory.appending(path: "bus").path
            let ready = Foundation.Pipe()
            let proxy = ChildProcess()
            proxy.executableURL = URL(filePath: "/usr/bin/xdg-dbus-proxy")
            proxy.arguments = [pair.bus.address, socket, "--filter", "--talk=\(Echo.name)", "--fd=1"]
            proxy.standardOutput = ready
            try proxy.run()
            // The proxy writes a byte when it listens.
            #expect(try ready.fileHandleForReading.read(upToCount: 1)?.count == 1)
            let address = BusAddress.address("unix:path=\(socket)".replacing(" ", with: "%20"))

            for _ in 0..<50 {
                let short = try BlockingConnection(address)
                #expect(try short.call(Echo.string, on: Echo.object, "a") == "a")
                #expect(try short.call(Echo.string, on: Echo.object, "b") == "b")
            }
            let connection = try await Connection.open(address, on: EventLoop())
            let proxied = RemoteObject(connection.uniqueName, "/")
            for round in 0..<20 {
                let texts = (0..<10).map { "\(round) \($0)" }
                let calls = texts.map { text in Task { try await connection.call(Echo.string, on: Echo.object, text) } }
                for (text, call) in zip(texts, calls) { #expect(try await call.value == text) }
                try await pair.service.call(PeerInterface.ping, on: proxied, Empty())
            }
            await connection.close()
            connection.loop.stop()
            kill(proxy.processIdentifier, SIGKILL)
            proxy.waitUntilExit()
            try FileManager.default.removeItem(at: directory)
        }
    }
}
