import TestSupport
import Testing

@testable import Doctor

/// The comparison of openurl's choice with those of the desktop's programs.
@Suite(.timeLimit(.minutes(10))) struct OpenerTests {
    /// The output of a program, and the finding about it.
    struct Answer: Sendable, CustomTestStringConvertible {
        let script: String
        let level: Finding.Level
        let message: String

        init(_ script: String, _ level: Finding.Level, _ message: String) {
            self.script = script
            self.level = level
            self.message = message
        }

        var testDescription: String { script }
    }

    private func finding(_ program: String, _ script: String, _ subject: String) throws -> Finding {
        let session = try ExaminedSession()
        try session.writeEntry("app", opening: ["app"])
        try session.writeProgram("bin/\(program)", "#!/bin/sh\n\(script)\n")
        let findings = try session.findings(about: "note", in: [.openers]).filter { $0.subject == subject }
        return try #require(findings.first)
    }

    private static let nothing = "has nothing to open note: with"
    private static let other = "app.desktop, but openurl chooses com.example.note"

    @Test(arguments: [
        Answer(
            "echo 'Default application for “x-scheme-handler/note”: com.example.note.desktop'",
            .ok,
            "com.example.note"
        ),
        Answer(
            "echo 'Default application for ‘x-scheme-handler/note’: com.example.note.desktop'",
            .ok,
            "com.example.note"
        ),
        Answer(
            "printf 'Default application for x: com.example.note.desktop\\nRegistered: other.desktop\\n'",
            .ok,
            "com.example.note"
        ),
        Answer("echo 'Default application for “x-scheme-handler/note”: app.desktop'", .warn, other),
        Answer(
            "echo 'Default application for x: unknown.desktop'",
            .warn,
            "unknown.desktop, but openurl chooses com.example.note"
        ),
        Answer("echo 'No default applications for “x-scheme-handler/note”'", .fail, nothing),
        Answer("printf 'Registered applications:\\n\\tcom.example.note.desktop\\n'", .fail, nothing),
        Answer("echo 'Default application for x:'", .fail, nothing),
        Answer("echo 'Default application for x: Notes'", .fail, nothing),
        Answer(":", .fail, nothing),
        Answer("echo 'Default application for x: com.example.note.desktop'; exit 1", .fail, nothing),
    ])
    func defaultOfGioIsCompared(_ answer: Answer) throws {
        let finding = try finding("gio", answer.script, "gio")
        #expect(finding.level == answer.level)
        #expect(finding.message.hasPrefix(answer.message), "\(finding.message)")
        #expect((finding.fix == nil) == (answer.level == .ok))
    }

    @Test(arguments: [
        Answer("echo com.example.note.desktop", .ok, "com.example.note"),
        Answer("echo '  com.example.note.desktop  '", .ok, "com.example.note"),
        Answer("echo app.desktop", .warn, other),
        Answer("echo app.desktop com.example.note.desktop", .warn, other),
        Answer("echo", .fail, nothing),
        Answer("echo nothing", .fail, nothing),
        Answer("exit 3", .fail, nothing),
        Answer("kill -9 $$", .fail, nothing),
    ])
    func defaultOfXDGUtilsIsCompared(_ answer: Answer) throws {
        let finding = try finding("xdg-mime", answer.script, "xdg-open")
        #expect(finding.level == answer.level)
        #expect(finding.message.hasPrefix(answer.message), "\(finding.message)")
    }

    /// Nothing is known about the choice of a program that hangs.
    @Test func programThatHangsIsNamed() async throws {
        let result = await onThread { Result { try self.finding("gio", "exec /bin/sleep 600", "gio") } }
        let finding = try result.get()
        #expect(finding.level == .warn)
        #expect(finding.message == "did not answer within 5 seconds, so its choice is not known")
    }

    /// The programs get the type, and answer in English.
    @Test(arguments: [("gio", "mime x-scheme-handler/note C"), ("xdg-mime", "query default x-scheme-handler/note C")])
    func toolsGetTheTypeInEnglish(_ program: String, _ expected: String) throws {
        let session = try ExaminedSession()
        session.variables["LC_ALL"] = "de_DE.UTF-8"
        try session.writeProgram("bin/\(program)", "#!/bin/sh\necho \"$* $LC_ALL\" > \(session.path("arguments"))\n")
        _ = try session.findings(about: "note")
        #expect(try session.text("arguments") == expected + "\n")
    }

    @Test func missingProgramsAreSkipped() throws {
        let session = try ExaminedSession()
        let skipped = try session.findings(about: "note", in: [.openers]).filter { $0.level == .skip }
        #expect(skipped.map(\.subject) == ["gio", "xdg-open", "KDE", "portal"])
        let without = try session.findings(in: [.openers])
        #expect(
            without.map(\.message) == [
                "give a scheme, a URL or a handler to see which program each opener would choose"
            ]
        )
    }

    /// Another program of this name may choose by other rules.
    @Test(arguments: [
        ("#!/bin/sh\n#   Utility script to open a URL in the registered default application.\n", Finding.Level.ok),
        ("#!/bin/sh\nexec firefox \"$@\"\n", .skip), ("\u{7F}ELF", .skip),
    ])
    func otherProgramInThePlaceOfXDGOpenIsNamed(_ text: String, _ level: Finding.Level) throws {
        let session = try ExaminedSession()
        session.variables["DISPLAY"] = ":0"
        try session.writeProgram("bin/xdg-mime", "#!/bin/sh\necho com.example.note.desktop\n")
        let program = try session.writeProgram("bin/xdg-open", text)
        let found = try session.findings(about: "note", in: [.openers]).filter { $0.check == "xdg-open" }
        #expect(found.map(\.level) == [level])
        let reason = "is \(program), which is not the program of xdg-utils; only --probe shows what it chooses"
        #expect(level == .ok || found.map(\.message) == [reason])
    }

    @Test(arguments: [[:], ["DISPLAY": ":0"], ["WAYLAND_DISPLAY": "wayland-0"]])
    func programsOfXDGNeedADisplay(_ display: [String: String]) throws {
        let session = try ExaminedSession()
        session.variables.merge(display) { $1 }
        try session.writeProgram("bin/xdg-mime", "#!/bin/sh\necho com.example.note.desktop\n")
        let findings = try session.findings(about: "note").filter { $0.subject == "xdg-open" }
        #expect(findings.contains { $0.level == .skip } == display.isEmpty)
        let choice = try #require(findings.first { $0.level == .ok })
        #expect(choice.message.hasSuffix(", but only with a display") == display.isEmpty, "\(choice.message)")
    }

    /// A choice of KDE, which has rules of its own.
    struct Choice: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let level: Finding.Level
        let message: String
        let perform: @Sendable (ExaminedSession) throws -> Void

        init(
            _ name: String,
            _ level: Finding.Level,
            _ message: String,
            _ perform: @escaping @Sendable (ExaminedSession) throws -> Void = { _ in }
        ) {
            testDescription = name
            self.level = level
            self.message = message
            self.perform = perform
        }
    }

    @Test(arguments: [
        Choice("only the handler claims the scheme", .ok, "com.example.note"),
        Choice("an application claims it too", .warn, "opens note: with any of app.desktop, com.example.note") {
            try $0.writeEntry("app", opening: ["note"])
        },
        Choice("the handler is chosen", .ok, "com.example.note") {
            try $0.writeEntry("app", opening: ["note"])
            try $0.choose("x-scheme-handler/note=com.example.note.desktop")
        },
        Choice("the application is chosen", .ok, "app.desktop") {
            try $0.writeEntry("app", opening: ["note"])
            try $0.choose("x-scheme-handler/note=app.desktop")
        },
        Choice("only KDE chooses the application", .ok, "app.desktop") {
            try $0.writeEntry("app", opening: ["note"])
            try $0.choose("x-scheme-handler/note=app.desktop", in: "home/.config/kde-mimeapps.list")
        },
        Choice("the application is not shown in KDE", .ok, "com.example.note") {
            try $0.writeEntry("app", opening: ["note"], "NotShowIn=KDE;")
            try $0.choose("x-scheme-handler/note=com.example.note.desktop")
        },
    ])
    func choiceOfKDEIsCompared(_ choice: Choice) throws {
        let session = try ExaminedSession()
        session.variables["XDG_CURRENT_DESKTOP"] = "KDE"
        try choice.perform(session)
        let findings = try session.findings(about: "note", in: [.openers]).filter { $0.check == "kde" }
        #expect(findings.map(\.level) == [choice.level])
        #expect(findings.first?.message.hasPrefix(choice.message) == true, "\(findings)")
    }

    @Test(
        arguments: [
            ("KDE", nil, true), ("kde", nil, true), ("X-Example:KDE", nil, true), ("GNOME", nil, false),
            ("", nil, false),
            ("GNOME", "kioclient", true), ("", "kioclient5", true), ("XFCE", "plasmashell", true),
            ("XFCE", "konsole", false),
        ] as [(String, String?, Bool)]
    )
    func desktopTellsWhetherKDEMatters(_ desktop: String, _ program: String?, _ matters: Bool) throws {
        let session = try ExaminedSession()
        session.variables["XDG_CURRENT_DESKTOP"] = desktop
        if let program { try session.writeProgram("bin/\(program)") }
        let finding = try session.findings(about: "note", in: [.openers]).first { $0.check == "kde" }
        #expect(finding?.level == (matters ? .ok : .skip))
    }

    @Test(arguments: [
        ("com.example.note", "com.example.note", "show it"), ("app", "app.desktop", "show it"),
        ("quiet", "quiet.desktop", "show it, except in KDE before Plasma 6.6, because of NoDisplay"),
    ])
    func choosersShowTheEntry(_ name: String, _ winner: String, _ message: String) throws {
        let session = try ExaminedSession()
        try session.writeEntry("app")
        try session.writeEntry("quiet", "NoDisplay=true")
        try session.choose("x-scheme-handler/note=\(name).desktop")
        let findings = try session.findings(about: "note", in: [.openers])
        #expect(findings.first { $0.check == "openurl" }?.message == winner)
        #expect(findings.first { $0.check == "chooser" }?.message == message)
    }

    /// A handler that is registered and not published is in no chooser.
    @Test func handlerWithoutAnEntryIsInNoChooser() throws {
        let session = try ExaminedSession()
        try session.register("com.example.other", schemes: ["other"])
        let findings = try session.findings(about: "other")
        #expect(!findings.contains { $0.check == "chooser" })
        let finding = try #require(findings.first { $0.check == "unpublished" })
        #expect(finding.level == .fail && finding.repair == .reload)
        #expect(finding.fix?.hasSuffix("org.openurl.Registry1.Reload") == true, "\(finding)")
    }

    @Test func removedAssociationIsOnlyAmongAllApplications() throws {
        let session = try ExaminedSession()
        try session.root.write(
            """
            [Removed Associations]
            x-scheme-handler/note=com.example.note.desktop
            [Default Applications]
            x-scheme-handler/note=com.example.note.desktop

            """,
            to: ExaminedSession.associations
        )
        let finding = try session.findings(about: "note").first { $0.check == "chooser" }
        #expect(finding?.message == "show it only among all applications")
    }
}
