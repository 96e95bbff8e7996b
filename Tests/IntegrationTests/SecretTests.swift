import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The secrets of URLs, which are in no log and in no message of the commands that show what happened.
///
/// Every secret here begins with `s3c`. The handlers quote their URLs in many ways.
@Suite(.timeLimit(.minutes(10))) struct SecretTests {
    private static let word = "com.example.word"
    private static let tool = "com.example.tool"
    private static let script = "com.example.script"

    /// A command that writes the text that the query names, and fails.
    private static func command() throws -> String { try pythonProgram("failing_command") }

    /// A handler that refuses with a text that it makes of the URL, or crashes after it has written the URL.
    private static func handler() throws -> String { try pythonProgram("refusing_handler") }

    private static func write(_ text: String, _ name: String, in directory: URL) throws -> String {
        let file = directory.appending(path: name)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: file.path)
        return file.path
    }

    private static func router() async throws -> RouterProcess {
        try await RouterProcess(
            [word: [], "com.example.no": ["decline="]],
            wrapper: ["/bin/sh", "-c", "DISPLAY=:nowhere PATH=$HOME/programs:$PATH exec \"$0\""]
        ) { directory in
            let command = try write(command(), "tool", in: directory)
            let types = [["CFBundleURLName": tool, "CFBundleURLSchemes": ["tool"]]]
            let keys: [String: Any] = [
                "CFBundleIdentifier": tool, "OUCommand": [command, "%u"], "CFBundleURLTypes": types,
                "OUOpenTimeout": 60,
            ]
            let data = try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0)
            try data.write(to: directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(tool).plist"))
            let program = try write(handler(), "script", in: directory)
            let extra: [String: Any] = ["CFBundleExecutable": program, "OUArguments": [String]()]
            try RouterProcess.write(script, [], in: directory, extra: extra)
            try RouterProcess.write("com.example.ask", [], in: directory, extra: ["OUAsk": true])
            let programs = directory.appending(path: "programs")
            try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
            _ = try write("#!/bin/sh\nexit 0\n", "programs/zenity", in: directory)
        }
    }

    /// Every place in which a program of the user, or a person, reads what happened.
    private static func places(_ router: RouterProcess) async throws -> [String: Data] {
        var places: [String: Data] = [:]
        for arguments in [
            ["log"], ["log", "--verbose"], ["log", "--json"], ["log", "--graph"], ["queue", "list"],
            ["queue", "--json"],
            ["doctor"], ["doctor", "--json"], ["doctor", "tool"], ["doctor", "--json", "script"],
            ["doctor", "nobody://joe:hunter2@h/?s3cret"], ["doctor", "--json", "word:a b?s3cret"], ["policy"],
        ] {
            let run = try await router.openurl(arguments)
            #expect(!run.output.isEmpty || arguments == ["policy"], "\(arguments): \(run.errors)")
            places["openurl \(arguments.joined(separator: " "))"] = Data((run.output + run.errors).utf8)
        }
        let directory = router.bus.directory
        places["the journal"] = try Data(contentsOf: directory.appending(path: "openurld.log"))
        let state = directory.appending(path: "XDG_STATE_HOME/openurl")
        for name in try FileManager.default.contentsOfDirectory(atPath: state.path) where name.hasPrefix("log.sqlite") {
            places[name] = try Data(contentsOf: state.appending(path: name))
        }
        return places
    }

    private static func expectNoSecret(in places: [String: Data]) {
        for (place, data) in places {
            for secret in ["s3c", "S3C", "hunter2", "HUNTER2"] {
                let found = data.range(of: Data(secret.utf8))
                let before = found.map { data[max($0.lowerBound - 60, 0)..<$0.upperBound] } ?? Data()
                #expect(found == nil, "\(place): \(String(decoding: before, as: UTF8.self))")
            }
        }
    }

    private static let urls = [
        "word:/a?token=s3cretToken", "word://joe:hunter2@h/a;s3cretParameter#access_token=s3cretFragment",
        "word:a;p=s3cretParameter", "word:///joe:hunter2@h/", "word:joe:hunter2@h", "word://joe%3Ahunter2%40h/",
        "word:/open/https%3A%2F%2Fh%2F%3Fpin%3Ds3cret", "WORD:/a?x-success=b%3A%2F%2Fx%3Ft%3Ds3cret",
        "tool:raw/a?token=s3cret%2Fvalue+here", "tool:plain/a?token=a+s3cret%2Fvalue+here",
        "tool:upper/a?token=a+s3cret%2Fvalue+here", "tool:long/a?token=s3cret%2Fvalue+that+is+long",
        "tool:longer/a?token=s3cret%2Fvalue+that+is+long", "tool:value/a?token=a+s3cret%2Fvalue",
        "tool:json/a?token=s3cret/value", "tool:value/a?next=b%3A%2F%2Fx%3Ft%3Ds3cretValue",
        "script:refuse/a?token=a+s3cret%2Fvalue", "script:cut/a?token=a+s3cret%2Fvalue",
        "script:store/a?token=s3cret%2Fvalue", "script:crash/a?token=a+s3cret%2Fvalue+here",
        "script:echo/a?token=s3cretToken",
        "no:x?token=s3cret", "nobody:x?token=s3cret", "word:a b?token=s3cret", "ask:x?token=s3cret",
    ]

    @Test func secretsAreInNoLog() async throws {
        let router = try await Self.router()
        defer { router.stop() }
        // The monitor ends itself: every open and every attempt of the queue is an entry.
        async let monitor = router.openurl("monitor", "--json", "--count", "\(2 * Self.urls.count)")
        for options in [[], ["--queue"]] {
            for url in Self.urls { _ = try await router.openurl(["--timeout", "60s"] + options + [url]) }
        }
        var traces = Data()
        for url in Self.urls {
            let run = try await router.openurl("open", "--timeout", "60s", "--trace", "-", url)
            #expect(run.output.contains("traceEvents"), "\(run)")
            traces += Data(run.output.utf8)
        }
        let watched = try await monitor
        #expect(watched.status == 0, "\(watched.errors)")

        var places = try await Self.places(router)
        places["openurl monitor"] = Data((watched.output + watched.errors).utf8)
        places["--trace"] = traces
        let log = try #require(places["openurl log"].map { String(decoding: $0, as: UTF8.self) })
        // The URLs came where they are looked for.
        for text in ["word:/a?…", "tool:raw/a?…", "script:cut/a?…", "nobody:x?…"] {
            #expect(log.contains(text), "\(text)")
        }
        let journal = String(decoding: places["the journal"] ?? Data(), as: UTF8.self)
        let texts = ["a queued URL was not delivered", "a question was answered", "ask:x?…", "open tool:raw/a?…"]
        for text in texts {
            #expect(journal.contains(text), "\(text)")
        }
        let queue = String(decoding: places["openurl queue list"] ?? Data(), as: UTF8.self)
        #expect(queue.contains("tool:plain/a?…"), "\(queue)")
        let doctor = String(decoding: places["openurl doctor"] ?? Data(), as: UTF8.self)
        #expect(doctor.contains("was abandoned after"), "\(doctor)")
        #expect(doctor.contains("the latest request ('nobody:x?…') failed"), "\(doctor)")
        Self.expectNoSecret(in: places)
        // The secrets are there for those who ask for them.
        #expect(try await router.openurl("queue", "list", "--show-queries").output.contains("s3cret"))
        #expect(await router.terminate() == 0)
        Self.expectNoSecret(in: try await Self.files(router))
    }

    private static func files(_ router: RouterProcess) async throws -> [String: Data] {
        let state = router.bus.directory.appending(path: "XDG_STATE_HOME/openurl")
        let names = try FileManager.default.contentsOfDirectory(atPath: state.path).filter { $0.hasPrefix("log.") }
        try #require(names.contains("log.sqlite"))
        var files: [String: Data] = [:]
        for name in names { files[name] = try Data(contentsOf: state.appending(path: name)) }
        return files
    }

    /// The value of a query may be a word of the router's own sentence.
    @Test(arguments: ["slow:x?1", "slow:x?e", "slow:x?seconds", "slow:x?open"]) func sentencesOfTheRouterStayWhole(
        _ url: String
    ) async throws {
        let id = "com.example.slow"
        let router = try await RouterProcess { directory in
            try RouterProcess.write(id, ["hang=open"], in: directory, extra: ["OUOpenTimeout": 0.3])
        }
        defer { router.stop() }
        let error = try await router.failure(url)
        #expect(error.code == .timedOut && error.message.contains(" within 0.3 seconds"), "\(error)")
        for arguments in [["log"], ["log", "--json"]] {
            let log = try await router.openurl(arguments).output
            #expect(log.contains(error.message), "\(log)")
            #expect(!log.contains(url), "\(log)")
        }
    }
}
