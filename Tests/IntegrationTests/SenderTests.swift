import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// Handlers that open each other's URLs, and the source that each handler sees.
@Suite(.timeLimit(.minutes(10))) struct SenderTests {
    @Test func handlerThatOpensAURLIsItsSource() async throws {
        let router = try await RouterProcess(["com.example.first": ["forward=second:x"], "com.example.second": []])
        defer { router.stop() }
        let result = try await router.open("first:x")
        #expect(result.handler == "com.example.first")
        let start = try #require(try router.log(of: "com.example.first").first)
        let pid = try #require(start.split(separator: " ").last.flatMap { UInt32($0) })
        #expect(result.reply["source-application"] == "com.example.first")
        #expect(result.reply["source-pid"] == .uint32(pid))
        let program = RouterProcess.products.appending(path: "testhandler").resolvingSymlinksInPath().path
        #expect(result.reply["source-executable"] == .string(program))
        #expect(try router.log(of: "com.example.second").contains("open second:x"))

        // The sender of the first URL is not a handler.
        let direct = try await router.open("second:y")
        #expect(direct.reply["source-application"] == nil)
        #expect(direct.reply["source-pid"] == .uint32(UInt32(getpid())))
    }

    @Test func commandPassesURLsOnForItsParent() async throws {
        let router = try await RouterProcess(["com.example.any": []])
        defer { router.stop() }
        // The last command of the script keeps the shell from becoming the other one.
        let run = try await router.run("sh", "-c", "\"$0\" --json any:x; :", RouterProcess.command.path)
        let shell = URL(filePath: "/bin/sh").resolvingSymlinksInPath().path
        let command = RouterProcess.command.resolvingSymlinksInPath().path
        #expect(run.output.contains(#""source-executable":"\#(shell)""#), "\(run.output)")
        #expect(run.output.contains(#""source-via":["\#(command)"]"#), "\(run.output)")

        // A process that has left its parent's session may have left the parent too.
        let left = try await router.run("setsid", "--wait", RouterProcess.command.path, "--json", "any:y")
        #expect(left.output.contains(#""source-executable":"\#(command)""#), "\(left.output)")
        #expect(left.output.contains(#""source-intermediary":true"#), "\(left.output)")
    }

    /// `xdg-open` passes URLs on under every name: Debian has a link `open`, and packages have copies.
    @Test(arguments: ["/bin/sh", "/bin/bash"]) func openerIsRecognisedUnderEveryName(_ shell: String) async throws {
        let router = try await RouterProcess(["com.example.any": []])
        defer { router.stop() }
        try await router.waitUntilPublished("com.example.any")
        let files = #"""
            opener=$(command -v xdg-open)
            ln -s "$opener" "$HOME/link" && ln -s "$HOME/link" "$HOME/link-of-link" && cp "$opener" "$HOME/copy" &&
            printf '#!/bin/sh\n"%s" "$1"; :\n' "$0" > "$HOME/other"
            """#
        try #require(try await router.run("sh", "-c", files, RouterProcess.command.path).status == 0)
        let home = try #require(router.bus.environment["HOME"])
        for name in ["link", "link-of-link", "copy", "other"] {
            let run = try await router.tool([shell, "\(home)/\(name)", "any:\(name)"])
            #expect(run.status == 0, "\(name): \(run.errors)")
        }
        let log = try await router.run(RouterProcess.command.path, "log", "--json").output.split(separator: "\n")
        struct Entry: Decodable {
            let url: String
            let source: String
        }
        let sources = try log.map { try JSONDecoder().decode(Entry.self, from: Data($0.utf8)) }
            .map { "\($0.url) \(URL(filePath: $0.source).lastPathComponent)" }
        // `timeout` has started the opener. A script of another content is the origin itself.
        let program = URL(filePath: shell).resolvingSymlinksInPath().lastPathComponent
        #expect(
            sources == ["any:link timeout", "any:link-of-link timeout", "any:copy timeout", "any:other \(program)"]
        )
    }

    /// `openurl` under the name `xdg-open` is still the command, whose parent is the sender.
    @Test func commandNamedXDGOpenPassesURLsOnForItsParent() async throws {
        let router = try await RouterProcess(["com.example.any": []])
        defer { router.stop() }
        let script = #"ln -s "$0" "$HOME/xdg-open" && "$HOME/xdg-open" "any:a b"; exit"#
        let run = try await router.run("sh", "-c", script, RouterProcess.command.path)
        #expect(run.status == 0 && run.output.isEmpty && run.errors.isEmpty, "\(run)")
        #expect(try router.log(of: "com.example.any").contains("open any:a%20b"))
        let log = try await router.run(RouterProcess.command.path, "log", "--json").output
        let shell = URL(filePath: "/bin/sh").resolvingSymlinksInPath().path
        #expect(log.contains(#""class":"user""#) && log.contains(#""source":"\#(shell)""#), "\(log)")
    }

    /// Both programs of a copy of the command count as `openurl` of the copy's directory.
    @Test func copyOfTheCommandHasOneName() async throws {
        let router = try await RouterProcess(["com.example.any": []])
        defer { router.stop() }
        let script = #"""
            mkdir "$HOME/bin" && cp "$0" "$0-command" "$HOME/bin" || exit
            "$HOME/bin/openurl" any:plain && "$HOME/bin/openurl" --json any:options
            """#
        let run = try await router.run("sh", "-c", script, RouterProcess.command.path)
        #expect(run.status == 0, "\(run.errors)")
        let copy = try #require(router.bus.environment["HOME"]) + "/bin/openurl"
        #expect(run.output.contains(#""source-executable":"\#(copy)""#), "\(run.output)")
        let log = try await router.run(RouterProcess.command.path, "log", "--json")
        #expect(log.output.split(separator: "\n").count == 2, "\(log.output)")
        #expect(log.output.split(separator: "\n").allSatisfy { $0.contains("\"\(copy)\"") }, "\(log.output)")
    }

    @Test func listedHandlerRefusesURLsPastTheRouter() async throws {
        let router = try await RouterProcess(["com.example.friend": ["forward=guarded:friend"]]) { directory in
            let keys: [String: Any] = ["OUReach": "listed", "OUAllowedSources": ["com.example.friend"]]
            try RouterProcess.write("com.example.guarded", [], in: directory, extra: keys)
            try RouterProcess.write("com.example.local", [], in: directory, extra: ["OUReach": "local"])
        }
        defer { router.stop() }
        _ = try await router.open("friend:x")
        #expect(try router.log(of: "com.example.guarded").contains("open guarded:friend"))
        #expect(try await router.failure("guarded:x").code == .notAllowed)
        let id: BusName = "com.example.guarded"
        let object = RemoteObject(id, HandlerInterface.object(of: id))
        let input = DeliveredURL("guarded:past", OpenContext())
        let advice = "open the URL with 'openurl' or org.openurl.Router1"
        let refusal = OpenURLError(.notAllowed, "\(id) takes URLs only from the router; \(advice)")
        await #expect(throws: CallError.remote(refusal.dbusError)) {
            try await router.connection.call(HandlerInterface.open, on: object, input)
        }
        let explained = try await router.openurl("explain", "guarded:x")
        #expect(explained.output.contains("reach\tlisted\n"), "\(explained.output)")

        #expect(try await router.open("local:x").handler == "com.example.local")
        let listed = try await router.openurl("list")
        #expect(listed.output.contains("com.example.local.plist\tlocal\t–\n"), "\(listed.output)")
        let entries = router.bus.directory.appending(path: "XDG_DATA_HOME/applications")
        let names = try FileManager.default.contentsOfDirectory(atPath: entries.path)
        #expect(names.contains("com.example.guarded.desktop"))
        #expect(!names.contains("com.example.local.desktop"))
    }

    @Test func onlyAllowedSourcesReachTheHandler() async throws {
        let router = try await RouterProcess([
            "com.example.friend": ["forward=guarded:friend"], "com.example.foe": ["forward=guarded:foe"],
        ]) { directory in
            try RouterProcess.write(
                "com.example.guarded",
                [],
                in: directory,
                extra: ["OUAllowedSources": ["com.example.friend", "com.acme.*"]]
            )
        }
        defer { router.stop() }
        let direct = OpenURLError(.notAllowed, "com.example.guarded takes no URLs from this program")
        #expect(try await router.failure("guarded:x") == direct)
        #expect(try await router.open("friend:x").reply["source-application"] == "com.example.friend")
        let foe = try await router.failure("foe:x")
        #expect(foe.code == .declined)
        #expect(
            foe.message
                == "com.example.foe declined the URL: guarded:foe: com.example.guarded takes no URLs from com.example.foe"
        )
        #expect(try router.log(of: "com.example.foe").last == "didBecomeActive")
        #expect(try router.log(of: "com.example.foe").contains("guarded:foe ended with NotAllowed"))

        // The options of the sender cannot change the source.
        var options = OpenOptions()
        options.annotation = .options(["source-application": "com.example.friend"])
        #expect(try await router.failure("guarded:x", options) == direct)
        let words = "{'source-application': <'com.example.friend'>, 'source': <{'pid': <uint32 1>}>}"
        let gdbus = try await router.run(
            "gdbus",
            "call",
            "--session",
            "--dest",
            "org.openurl.Router1",
            "--object-path",
            "/org/openurl/Router1",
            "--method",
            "org.openurl.Router1.OpenURL",
            "guarded:x",
            words
        )
        #expect(gdbus.status != 0)
        #expect(gdbus.errors.contains("org.openurl.Error.NotAllowed"), "\(gdbus.errors)")
        let command = try await router.openurl("--annotation", "source-application=com.example.friend", "guarded:x")
        #expect(command.status == 7)
        #expect(command.errors == "openurl: com.example.guarded takes no URLs from this program\n")
        let opened = try router.log(of: "com.example.guarded").filter { $0.hasPrefix("open") }
        #expect(opened == ["open guarded:friend"])
    }

    @Test func moreThanEightHopsAreALoop() async throws {
        // Each of the ten handlers opens the next handler's URL and waits for the answer.
        let ids = (0..<10).map { "com.example.hop\($0)" }
        let router = try await RouterProcess { directory in
            for (number, id) in ids.enumerated() {
                // The test does not measure the time that the machine needs to start nine processes, so the limits are
                // long.
                try RouterProcess.write(
                    id,
                    number < 9 ? ["forward=hop\(number + 1):x"] : [],
                    in: directory,
                    extra: ["OULaunchTimeout": 60, "OUOpenTimeout": 110]
                )
            }
        }
        defer { router.stop() }
        let error = try await router.failure("hop0:x")
        #expect(error.code == .declined)
        #expect(error.message.hasSuffix("hop9:x: 9 handlers in a row have opened each other"), "\(error.message)")
        #expect(try router.log(of: ids[8]).contains("hop9:x ended with LoopDetected"))
        #expect(try router.log(of: ids[9]) == [])
        // A chain of eight hops is not a loop.
        #expect(try await router.open("hop1:x").reply["source-application"] == "com.example.hop8")
        #expect(try router.log(of: ids[9]).contains("open hop9:x"))
    }

    @Test func twoHandlersThatWaitForEachOtherAreALoop() async throws {
        let router = try await RouterProcess([
            "com.example.ping": ["forward=pong:x"], "com.example.pong": ["forward=ping:x"],
        ])
        defer { router.stop() }
        let reason =
            "com.example.ping is still opening the URL that led to this one, and each would wait for the other"
        let pong = "com.example.pong declined the URL: ping:x: \(reason)"
        let expected = OpenURLError(.declined, "com.example.ping declined the URL: pong:x: \(pong)")
        // The second round shows that both handlers can open URLs again after the refusal.
        for _ in 0..<2 { #expect(try await router.failure("ping:x") == expected) }
        #expect(try router.log(of: "com.example.ping").filter { $0 == "open ping:x" }.count == 2)
        #expect(try router.log(of: "com.example.pong").filter { $0 == "ping:x ended with LoopDetected" }.count == 2)
    }
}
