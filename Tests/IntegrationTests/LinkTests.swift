import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Web links, which the user's rules take to a browser.
@Suite(.timeLimit(.minutes(10))) struct LinkTests {
    /// Writes the desktop entry of a browser that writes its arguments to a file.
    private static func browser(_ id: String, in directory: URL, _ keys: String = "") throws {
        let script = directory.appending(path: "browser.sh")
        try "printf '%s\\n' \"$*\" >>'\(directory.path)/browsers.log'\n"
            .write(to: script, atomically: true, encoding: .utf8)
        let applications = directory.appending(path: "XDG_DATA_HOME/applications")
        try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
        let command = "sh \(script.path) \(id)"
        let text = """
            [Desktop Entry]
            Type=Application
            Name=\(id)
            Exec=\(command) %u
            MimeType=x-scheme-handler/http;x-scheme-handler/https;
            Actions=new-private-window;
            \(keys)

            [Desktop Action new-private-window]
            Name=New Private Window
            Exec=\(command) --private-window %u

            """
        let file = applications.appending(path: "\(id).desktop")
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    private static func write(_ rules: String, in directory: URL) throws {
        let folder = directory.appending(path: "XDG_CONFIG_HOME/openurl")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        try rules.write(to: folder.appending(path: "links.conf"), atomically: true, encoding: .utf8)
    }

    /// Writes the user's rules of the policy.
    private static func write(policy: String, in directory: URL) throws {
        let file = directory.appending(path: "XDG_CONFIG_HOME/openurl/policy.conf")
        try policy.write(to: file, atomically: true, encoding: .utf8)
    }

    private static func profiles(in directory: URL) throws {
        let folder = directory.appending(path: ".mozilla/firefox/work")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try "[Profile0]\nName=default\nPath=d\nDefault=1\n\n[Profile1]\nName=work\nPath=work\nIsRelative=1\n"
            .write(to: folder.appending(path: "../profiles.ini").standardizedFileURL, atomically: true, encoding: .utf8)
        try #"{"identities": [{"name": "Banking", "public": true}]}"#
            .write(to: folder.appending(path: "containers.json"), atomically: true, encoding: .utf8)
        let addOns = folder.appending(path: "extensions")
        try FileManager.default.createDirectory(at: addOns, withIntermediateDirectories: true)
        try "".write(
            to: addOns.appending(path: "{f069aec0-43c5-4bbf-b6b4-df95c4326b98}.xpi"),
            atomically: true,
            encoding: .utf8
        )
    }

    private func router(
        _ rules: String,
        variables: [String: String] = [:],
        chooser: String? = nil,
        prepare: (URL) throws -> Void = { _ in }
    ) async throws -> RouterProcess {
        // A copy of the router finds the chooser beside it.
        let copy =
            #"mkdir "$HOME/bin" && cp "$0" "$HOME/bin" && mv "$HOME/chooser" "$HOME/bin/openurl-chooser""#
            + #" && exec "$HOME/bin/openurld""#
        return try await RouterProcess(
            wrapper: chooser == nil ? [] : ["/bin/sh", "-c", copy],
            variables: variables
        ) { directory in
            for id in ["a", "firefox"] { try Self.browser(id, in: directory) }
            try Self.profiles(in: directory)
            try Self.write(rules, in: directory)
            if let chooser {
                let file = directory.appending(path: "chooser")
                try writeProgram("#!/bin/sh\ncd '\(directory.path)'\n\(chooser)\n", to: file.path)
            }
            try prepare(directory)
        }
    }

    /// Opens a link, and returns what the browser got.
    private func opened(_ url: String, _ router: RouterProcess) async throws -> String {
        let count = try router.browsers().count
        _ = try await router.open(url)
        return try #require(try await eventually(router.browsers()) { $0.count > count }.last)
    }

    @Test func rulesChooseTheBrowserAndItsProfile() async throws {
        let router = try await router(
            """
            open * without utm_*
            open https://work.example/* with firefox --profile work
            open https://bank.example with firefox --profile work --container Banking
            open https://secret.example with firefox --private --profile work
            open https://other.example with firefox.desktop from program:nobody
            drop *://ads.example
            """
        )
        defer { router.stop() }
        #expect(try await opened("https://else.example/?utm_source=x", router) == "a https://else.example/")
        #expect(try await opened("https://work.example/x", router) == "firefox -P work https://work.example/x")
        let contained = "ext+container:name=Banking&url=https%3A%2F%2Fbank.example%2F"
        #expect(try await opened("https://bank.example/", router) == "firefox -P work \(contained)")
        let secret = try await opened("https://secret.example/", router)
        #expect(secret == "firefox --private-window -P work https://secret.example/")
        #expect(try await opened("https://other.example/", router) == "a https://other.example/")
        let dropped = try await router.failure("http://ads.example/x")
        #expect(dropped.code == .notAllowed)
        #expect(dropped.message.contains("links.conf:6 drops the link"), "\(dropped.message)")
        // The handler that the sender asks for gets the URL.
        let explained = try await router.openurl("explain", "https://work.example/x?utm_a=b")
        #expect(explained.output.contains("links.conf:2: open https://work.example/*"), "\(explained)")
        #expect(explained.output.contains("wins\tfirefox.desktop"), "\(explained)")
        #expect(explained.output.contains("opens\thttps://work.example/x\n"), "\(explained)")
        #expect(try await router.openurl("explain", "http://ads.example/").status == 7)
    }

    @Test func changedFileTakesEffect() async throws {
        let router = try await router("")
        defer { router.stop() }
        #expect(try await opened("https://x.example/", router) == "a https://x.example/")
        let states = router.bus.directory
        try Self.write("rubbish\nopen * with firefox\n", in: states)
        try await eventually(await router.open("https://x.example/").handler) { $0 == "firefox.desktop" }
        let log = try String(contentsOf: states.appending(path: "openurld.log"), encoding: .utf8)
        #expect(log.contains("links.conf: line 1: begins with 'rubbish'"), "\(log)")
    }

    @Test(arguments: [
        ("open * with nobody", "no program called nobody"),
        ("open * with firefox --profile no", "no profile called no"),
        ("open * with firefox --profile default --container Banking", "no container called Banking"),
        ("open * with a --profile work", "not a browser whose profiles are known"),
        ("open * with broken", "broken"),
        // Optional programs may be missing in a build.
        ("open * with chooser", "there is no display for the chooser|openurl-chooser is not installed"),
        ("open * rewritten s,https,file, with firefox", "not an http or https URL"),
    ]) func linkOpensWhateverIsWrong(_ rule: String, _ reason: String) async throws {
        let router = try await router(rule) { try Self.browser("broken", in: $0, "Path=/nonexistent/directory") }
        defer { router.stop() }
        #expect(try await opened("https://x.example/", router) == "a https://x.example/")
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        #expect(log.contains("links.conf:1: "), "\(log)")
        #expect(reason.split(separator: "|").contains { log.contains($0) }, "\(log)")
    }

    @Test func policyDecidesAfterTheRules() async throws {
        let router = try await router(
            "open * with chooser",
            variables: ["DISPLAY": ":77"],
            chooser: "touch asked; exit 1"
        ) { try Self.write(policy: "deny https://x.example from user\n", in: $0) }
        defer { router.stop() }
        let error = try await router.failure("https://x.example/")
        #expect(error.message.contains("policy.conf"), "\(error.message)")
        #expect(!FileManager.default.fileExists(atPath: router.bus.directory.appending(path: "asked").path))
    }

    /// The person allows one program, which cannot be started. The default browser is another one.
    @Test(arguments: [true, false]) func failedStartNeedsAnotherDecision(_ asks: Bool) async throws {
        let router = try await RouterProcess(
            wrapper: ["/bin/sh", "-c", #"DISPLAY=:77 PATH="$HOME/programs:$PATH" exec "$0""#]
        ) { directory in
            try Self.browser("a", in: directory)
            try Self.browser("broken", in: directory, "Path=/nonexistent/directory")
            try Self.write("open * with broken\n", in: directory)
            try Self.write(policy: "\(asks ? "ask" : "allow") https from user\n", in: directory)
            let programs = directory.appending(path: "programs")
            try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
            let zenity = programs.appending(path: "zenity")
            try writeProgram("#!/bin/sh\nprintf '%s\\n' \"$*\" >>\"$HOME/questions\"\n", to: zenity.path)
        }
        defer { router.stop() }
        guard asks else {
            #expect(try await opened("https://x.example/", router) == "a https://x.example/")
            return
        }
        let error = try await router.failure("https://x.example/")
        #expect(error.code == .launchFailed && error.message.contains("broken"), "\(error)")
        #expect(try router.browsers() == [])
        let questions = try String(contentsOf: router.bus.directory.appending(path: "questions"), encoding: .utf8)
        #expect(questions.contains("with broken"), "\(questions)")
    }

    @Test func chosenBrowserOpensTheLinkAndTheChoiceIsRemembered() async throws {
        let answer = #"cat >question; printf '[Choice]\nCandidate=3\nRemember=site\nPrivate=true\nToken=fresh\n'"#
        let router = try await router(
            "# mine\nopen * with chooser\n",
            variables: ["DISPLAY": ":77", "LANG": "de_DE.UTF-8"],
            chooser: answer
        )
        defer { router.stop() }
        var options = OpenOptions()
        options.activationToken = "old"
        _ = try await router.open("https://x.example/a", options)
        let expected = "firefox --private-window -P work https://x.example/a"
        try await eventually(try router.browsers()) { $0 == [expected] }
        let question = try String(contentsOf: router.bus.directory.appending(path: "question"), encoding: .utf8)
        for line in [
            "[Link]", "URL=https://x.example/a", "Host=x.example", "Token=old", "Locale=de_DE.UTF-8", "[Candidate 1]",
            "ID=a.desktop", "[Candidate 3]", "ID=firefox.desktop", "Profile=work", "ProfileName=work", "Private=true",
        ] {
            #expect(question.contains("\(line)\n"), "\(line) in \(question)")
        }
        let file = router.bus.directory.appending(path: "XDG_CONFIG_HOME/openurl/links.conf")
        #expect(
            try String(contentsOf: file, encoding: .utf8)
                == "# mine\nopen *://x.example with firefox.desktop --profile work --private\nopen * with chooser\n"
        )
        // The rule decides from now on.
        let explained = try await router.connection.call(
            RouterInterface.explain,
            on: RouterService.object,
            Arguments("https://x.example/b", OpenOptions())
        )
        #expect(explained.linkRule?.contains("links.conf:2: ") == true, "\(explained)")
    }

    @Test func queuedLinkMeetsTheRulesOnce() async throws {
        let answer = #"echo asked >>asked; printf '[Choice]\nCandidate=3\nRemember=no\n'"#
        let router = try await router(
            #"open *  rewritten s,^https:(.*)$,https://proxy.example/\1, with chooser"#,
            variables: ["DISPLAY": ":77"],
            chooser: answer
        )
        defer { router.stop() }
        var options = OpenOptions()
        options.isQueued = true
        #expect(try await router.open("https://x.example/a", options).way == .queued)
        let expected = "firefox -P work https://proxy.example///x.example/a"
        try await eventually(try router.browsers()) { $0 == [expected] }
        let asked = try String(contentsOf: router.bus.directory.appending(path: "asked"), encoding: .utf8)
        #expect(asked == "asked\n")
    }

    /// A host may be anything that RFC 1808 allows, even a pattern for others.
    @Test(arguments: ["https://*/", "https://*mail*/", "https://[::1]/", "https://a'b/"])
    func choiceIsRememberedOnlyForOneHost(_ url: String) async throws {
        let answer = #"cat >question; printf '[Choice]\nCandidate=1\nRemember=site\n'"#
        let router = try await router("open * with chooser\n", variables: ["DISPLAY": ":77"], chooser: answer)
        defer { router.stop() }
        #expect(try await opened(url, router) == "a \(url)")
        let question = try String(contentsOf: router.bus.directory.appending(path: "question"), encoding: .utf8)
        #expect(question.contains("Host=\n"), "\(question)")
        let file = router.bus.directory.appending(path: "XDG_CONFIG_HOME/openurl/links.conf")
        #expect(try String(contentsOf: file, encoding: .utf8) == "open * with chooser\n")
    }

    @Test(arguments: [("exit 1", true), ("exit 3", false), ("kill -9 $$", false), ("echo nonsense", false)])
    func closedChooserRefusesAndAFailedOneDoesNot(_ body: String, isRefused: Bool) async throws {
        let router = try await router("open * with chooser", variables: ["DISPLAY": ":77"], chooser: body)
        defer { router.stop() }
        if isRefused {
            let error = try await router.failure("https://x.example/")
            #expect(error.code == .notAllowed)
            #expect(error.message.contains("closed the window"), "\(error.message)")
        } else {
            #expect(try await opened("https://x.example/", router) == "a https://x.example/")
        }
    }

    @Test func chooserClosesWithTheSendersTime() async throws {
        let router = try await router(
            "open * with chooser",
            variables: ["DISPLAY": ":77"],
            chooser: "echo $$ >pid && mv pid chooser-pid && exec sleep 600"
        )
        defer { router.stop() }
        var options = OpenOptions()
        options.timeout = .seconds(20)
        let request = Task { [options] in try await router.failure("https://x.example/", options) }
        let file = router.bus.directory.appending(path: "chooser-pid")
        try await eventually(FileManager.default.fileExists(atPath: file.path)) { $0 }
        let pid = try #require(pid_t(try String(contentsOf: file, encoding: .utf8).dropLast()))
        #expect(try await request.value.code == .timedOut)
        try await eventually(kill(pid, 0)) { $0 == -1 }
        #expect(try router.browsers() == [])
    }

    @Test func chooserNeedsADisplay() async throws {
        let router = try await router("open * with chooser", chooser: "exit 1")
        defer { router.stop() }
        #expect(try await opened("https://x.example/", router) == "a https://x.example/")
    }
}

extension RouterProcess {
    /// The arguments that the browsers got so far.
    func browsers() throws -> [String] {
        let file = bus.directory.appending(path: "browsers.log")
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
    }
}
