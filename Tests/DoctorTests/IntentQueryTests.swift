import TestSupport
import Testing
import UserFiles

@testable import Doctor

/// What `openurl intents` prints and changes.
@Suite struct IntentQueryTests {
    private let session: ExaminedSession
    private static let terminal = "org.freedesktop.Terminal1"

    init() throws {
        session = try ExaminedSession(hasHandler: false)
        try session.writeProgram("bin/term")
    }

    private func entry(_ name: String, _ lines: String, in directory: String = ExaminedSession.applications) throws {
        let text = "[Desktop Entry]\nType=Application\nName=\(name)\nExec=term\n\(lines)\n"
        try session.root.write(text, to: "\(directory)/\(name).desktop")
    }

    private func read(_ name: String) throws -> String {
        let bytes = try contents(ofFile: session.path(name), limit: 1 << 20, followingLinks: true)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func run(_ arguments: String...) throws -> IntentQuery.Outcome {
        let query = try #require(IntentQuery(arguments))
        return query.run(environment: session.variables.merging(["LC_ALL": "C"]) { $1 })
    }

    private func text(_ arguments: [String]) throws -> String {
        let query = try #require(IntentQuery(arguments))
        return query.run(environment: session.variables).text.replacing("\(session.root.path)/", with: "")
    }

    @Test(arguments: [
        ["x"], ["--scope"], ["--scope", "s"], ["--reset"], ["--", "a.b", "c", "d"],
        ["--reset", "--", "a.b", "c.desktop"],
        [""], ["--unknown"],
    ])
    func wrongArgumentsAreRefused(_ arguments: [String]) {
        #expect(IntentQuery(arguments) == nil)
    }

    @Test func withoutApplicationsThereIsOneLine() throws {
        let outcome = try run()
        #expect(outcome.text == "No application implements an intent.\n")
        #expect(!outcome.isError && !outcome.isEmpty)
        let one = try run("--", Self.terminal)
        #expect(one.isEmpty && !one.isError)
        #expect(one.text == "\(Self.terminal)\n  no installed application\n")
    }

    @Test func linesNameTheFileThatDecides() throws {
        try entry("org.example.A", "DBusActivatable=true\nImplements=\(Self.terminal);")
        try entry("b", "Implements=\(Self.terminal);", in: ExaminedSession.systemApplications)
        #expect(
            try text([]) == """
                \(Self.terminal)
                  org.example.A.desktop: default; no file chooses, and \
                \(ExaminedSession.applications)/org.example.A.desktop:6 comes first
                  b.desktop: implements it, \(ExaminedSession.systemApplications)/b.desktop:5
                    cannot be called: a terminal has to be D-Bus activatable

                """
        )
        try session.root.write(
            "[Default Applications]\n# mine\n\(Self.terminal)=gone.desktop;b.desktop;org.example.A.desktop;\n",
            to: "home/.config/intentapps.list"
        )
        #expect(
            try text(["--", Self.terminal]) == """
                \(Self.terminal)
                  b.desktop: default; home/.config/intentapps.list:3 chooses it
                    cannot be called: a terminal has to be D-Bus activatable
                  org.example.A.desktop: named behind the default, home/.config/intentapps.list:3
                  gone.desktop: passed over, home/.config/intentapps.list:3: not installed

                """
        )
    }

    @Test func scopesFollowTheirIntent() throws {
        try entry("a", "Implements=org.example.X;\n[org.example.X]\nSupports=image/png;")
        try entry("b", "Implements=org.example.X;\n[org.example.X]\nSupports=image/gif;image/png;")
        try entry("c", "Implements=org.example.Y;")
        try session.root.write(
            "[Default Applications]\norg.example.X=b.desktop;c.desktop;\n[org.example.X]\nimage/gif=a.desktop;\n",
            to: "home/.config/intentapps.list"
        )
        let list = "home/.config/intentapps.list"
        #expect(
            try text(["--", "org.example.X"]) == """
                org.example.X
                  b.desktop: default; \(list):2 chooses it
                  a.desktop: implements it, \(ExaminedSession.applications)/a.desktop:5
                  c.desktop: passed over, \(list):2: its entry does not implement the intent

                org.example.X image/gif
                  b.desktop: default; \(list):2 chooses it for the intent as a whole
                  a.desktop: passed over, \(list):4: its entry does not support the scope
                  c.desktop: passed over, \(list):2: its entry does not implement the intent

                org.example.X image/png
                  b.desktop: default; \(list):2 chooses it for the intent as a whole
                  a.desktop: implements it, \(ExaminedSession.applications)/a.desktop:5
                  c.desktop: passed over, \(list):2: its entry does not implement the intent

                """
        )
    }

    @Test func jsonHasAnObjectForEachIntent() throws {
        try entry("a", "Implements=org.example.X;")
        let entry = "\(session.root.path)/\(ExaminedSession.applications)/a.desktop"
        let application =
            #"{"activatable":false,"chosen":null,"id":"a.desktop","implements":{"file":"\#(entry)","line":5},"name":"a"}"#
        #expect(
            try run("--json").text == #"""
                {"applications":[\#(application)],"default":"a.desktop","intent":"org.example.X","rejected":[],"scope":null}

                """#
        )
        let none = #"{"applications":[],"default":null,"intent":"org.example.Y","rejected":[],"scope":"s"}"# + "\n"
        #expect(try run("--json", "--scope", "s", "--", "org.example.Y").text == none)
    }

    @Test func choiceIsWrittenAndRemoved() throws {
        try entry("a", "Implements=org.example.X;")
        try entry("b", "Implements=org.example.X;")
        try entry("c", "")
        #expect(try run("--", "org.example.X", "b.desktop").text.contains("  b.desktop: default; "))
        let file = "home/.config/intentapps.list"
        #expect(try read(file) == "[Default Applications]\norg.example.X=b.desktop;\n")
        for other in ["c.desktop", "gone.desktop", "b", ""] {
            let refused = try run("--", "org.example.X", other)
            #expect(refused.isError)
            #expect(refused.text.hasSuffix(": no installed application '\(other)' implements org.example.X\n"))
        }
        let scoped = try run("--scope", "s", "--", "org.example.X", "b.desktop")
        #expect(scoped.isError && scoped.text.contains("implements org.example.X with the scope s"))
        #expect(try read(file) == "[Default Applications]\norg.example.X=b.desktop;\n")
        #expect(try run("--reset", "--", "org.example.X").text.contains("  a.desktop: default; "))
        #expect(try read(file) == "[Default Applications]\n")
    }

    @Test(arguments: ["x", "a.b\u{1B}[2J", "org.example.X\nfake"])
    func namesThatAreNoInterfacesAreRefused(_ name: String) throws {
        let outcome = try run("--", name)
        #expect(outcome.isError)
        #expect(outcome.text.hasPrefix("openurl: ") && outcome.text.hasSuffix("\n"))
        #expect(outcome.text.dropLast().unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }

    @Test func problemsInTheFilesAreShown() throws {
        try session.root.write(
            "[Default Applications]\nbad=a.desktop;\n[Added Associations]\norg.example.X=a.desktop;\n",
            to: "home/.config/intentapps.list"
        )
        let file = "home/.config/intentapps.list"
        #expect(
            try text([]) == """
                No application implements an intent.

                \(file): [Added Associations]: is ignored: this file can only choose between applications
                \(file): [Default Applications] bad: is not the name of an interface

                """
        )
    }

    // MARK: The doctor's check

    @Test func staleCacheIsReportedAndRepaired() throws {
        try entry("a", "Implements=org.example.X;")
        let stale = { try session.findings().filter { $0.check == "stale-intent-cache" } }
        // Most versions of update-desktop-database write none.
        #expect(try stale().isEmpty)
        let cache = "\(ExaminedSession.applications)/intent.cache"
        try session.root.write("[Intent Cache]\n", to: cache)
        let found = try stale()
        #expect(found.map(\.level) == [.warn])
        #expect(found.map(\.repair) == [.intentCache(directory: session.path(ExaminedSession.applications))])
        let done = try #require(found.first?.repair).perform(nil, environment: [:])
        #expect(done.hasSuffix("/\(cache)"))
        #expect(try read(cache) == "[Intent Cache]\norg.example.X=a.desktop;\n")
        #expect(try stale().isEmpty)
    }

    /// The tool puts all scopes of an intent on one line, and running it again would not help.
    @Test func scopesInTheSystemsCacheAreNotCompared() throws {
        let directory = ExaminedSession.systemApplications
        try entry("a", "Implements=org.example.X;\n[org.example.X]\nSupports=s;t;", in: directory)
        let head = "[Intent Cache]\norg.example.X="
        let scopes = "\n\n[org.example.X]\nt=a.desktop;s=a.desktop;\n"
        for (ids, isStale) in [("a.desktop;", false), ("b.desktop;", true)] {
            try session.root.write(head + ids + scopes, to: "\(directory)/intent.cache")
            let found = try session.findings().filter { $0.check == "stale-intent-cache" }
            #expect(found.map(\.repair) == (isStale ? [nil] : []))
        }
    }
}
