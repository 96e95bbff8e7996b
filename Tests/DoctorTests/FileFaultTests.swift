import Glibc
import TestSupport
import Testing
import UserFiles

@testable import Doctor

/// Faults in the files of a session: the doctor names each of them, and nothing else.
@Suite struct FileFaultTests {
    private typealias Session = ExaminedSession

    /// A fault, and the findings about it.
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var topic: String?
        /// All faults of the examination, each as `LEVEL CHECK SUBJECT`.
        let labels: [String]
        /// A part of the first fault's message.
        let message: String
        /// A part of the first fault's command; nil without a command. The path of the session is written as `~`.
        let fix: String?
        let damage: @Sendable (ExaminedSession) throws -> Void

        init(
            _ name: String,
            about topic: String? = nil,
            _ labels: [String],
            _ message: String,
            fix: String?,
            _ damage: @escaping @Sendable (ExaminedSession) throws -> Void
        ) {
            testDescription = name
            self.topic = topic
            self.labels = labels
            self.message = message
            self.fix = fix
            self.damage = damage
        }

        /// Breaks a session, and expects the findings about it.
        func check() throws {
            let session = try ExaminedSession()
            try damage(session)
            let faults = try session.findings(about: topic).filter(\.isFault)
            #expect(faults.map(\.label) == labels, "\(faults)")
            let first = try #require(faults.first)
            let message = first.message.replacing(session.root.path, with: "~")
            #expect(message.contains(self.message), "\(message)")
            let fix = first.fix?.replacing(session.root.path, with: "~")
            if let expected = self.fix {
                #expect(fix?.contains(expected) == true, "\(fix ?? "")")
            } else {
                #expect(fix == nil)
            }
        }
    }

    @Test(arguments: handlers + programs + entries + claims + associations + caches)
    func faultIsNamed(_ fault: Fault) throws {
        try fault.check()
    }

    // MARK: Manifests

    private static let manifest = "home/manifests/com.example.note.plist"

    private static func write(_ text: String) -> @Sendable (ExaminedSession) throws -> Void {
        { try $0.root.write(text, to: manifest) }
    }

    private static func change(_ old: String, _ new: String) -> @Sendable (ExaminedSession) throws -> Void {
        { session in
            let bytes = try contents(ofFile: session.path(manifest), limit: 1 << 20)
            try session.root.write(String(decoding: bytes, as: UTF8.self).replacing(old, with: new), to: manifest)
        }
    }

    private static let broken = ["fail manifest com.example.note"]

    private static let handlers: [Fault] = [
        Fault("the manifest is empty", broken, "", fix: "com.example.note.plist", write("")),
        Fault("the manifest ends early", broken, "", fix: "com.example.note.plist", write("<plist><dict><key>CF")),
        Fault(
            "the manifest is not a dictionary",
            broken,
            "not a dictionary",
            fix: "EDITOR",
            write("<plist><array/></plist>")
        ),
        Fault(
            "the manifest has no identifier",
            broken,
            "CFBundleIdentifier",
            fix: "EDITOR",
            change("CFBundleIdentifier", "CFBundleIdentified")
        ),
        Fault(
            "the manifest has another identifier than its name",
            broken,
            "com.example.other",
            fix: "EDITOR",
            change("<string>com.example.note<", "<string>com.example.other<")
        ),
        Fault(
            "the manifest has no schemes",
            broken,
            "",
            fix: "EDITOR",
            change("<string>note</string>", "")
        ),
        Fault("the manifest was moved", ["fail lost-manifest com.example.note"], "moved or removed", fix: "rm ~/") {
            try #require(unlink($0.path(manifest)) == 0)
        },
        Fault(
            "the manifest is on a medium that is not mounted",
            ["fail lost-manifest com.example.gone"],
            "(is its medium mounted?)",
            fix: "rm ~/"
        ) {
            try $0.root.link("\(Session.handlers)/com.example.gone.plist", to: "/run/media/nobody/stick/gone.plist")
        },
        Fault("every user may change the manifest", broken, "", fix: "chmod") {
            try #require(chmod($0.path(manifest), 0o666) == 0)
        },
        Fault(
            "a key is misspelt",
            ["warn manifest-key com.example.note"],
            "OULaunchTimout",
            fix: "+",
            change("<key>CFBundleURLTypes", "<key>OULaunchTimout</key><real>9</real><key>CFBundleURLTypes")
        ),
        Fault(
            "a topic that nothing has",
            about: "com.example.nothing",
            ["fail handler com.example.nothing"],
            "is not registered",
            fix: "openurl register PATH"
        ) { _ in },
        Fault(
            "a misspelt topic",
            about: "com.example.notes",
            ["fail handler com.example.notes"],
            "did you mean com.example.note?",
            fix: nil
        ) { _ in },
    ]

    // MARK: Programs

    private static let program = "home/programs/com.example.note"
    private static let noProgram = ["fail program com.example.note"]
    private static let noInterpreter = ["fail interpreter com.example.note"]

    private static func script(_ line: String) -> @Sendable (ExaminedSession) throws -> Void {
        { try $0.writeProgram(program, "\(line)\n") }
    }

    private static let programs: [Fault] = [
        Fault(
            "the program was removed",
            noProgram,
            "put the program back, or correct CFBundleExecutable in",
            fix: "com.example.note.plist"
        ) {
            try #require(unlink($0.path(program)) == 0)
        },
        Fault("a folder is in the program's place", noProgram, "which is a directory, not a program", fix: nil) {
            try #require(unlink($0.path(program)) == 0)
            try $0.root.makeDirectory(program)
        },
        Fault(
            "the program is a link that leads nowhere",
            noProgram,
            "needs ~/\(program), which does not exist",
            fix: "com.example.note.plist"
        ) {
            try #require(unlink($0.path(program)) == 0)
            try $0.root.link(program, to: "/nonexistent")
        },
        Fault("the program is not executable", noProgram, "is not executable", fix: "chmod +x ~/\(program)") {
            try #require(chmod($0.path(program), 0o644) == 0)
        },
        Fault("every user may change the program", noProgram, "can be changed by every user", fix: "chmod o-w") {
            try #require(chmod($0.path(program), 0o757) == 0)
        },
        Fault(
            "the program is on a medium that is not mounted",
            noProgram,
            "(is its medium mounted?)",
            fix: "com.example.note.plist",
            { try change($0.path(program), "/media/nobody/stick/program")($0) }
        ),
        Fault(
            "no directory of PATH has the program",
            noProgram,
            "needs no-such-program, which is not on PATH",
            fix: "com.example.note.plist",
            { try change($0.path(program), "no-such-program")($0) }
        ),
        Fault(
            "the interpreter is not there",
            noInterpreter,
            "is a script for /nowhere/sh",
            fix: "+1",
            script("#!/nowhere/sh")
        ),
        Fault(
            "PATH has the interpreter at another place",
            noInterpreter,
            "is a script for /nowhere/tool",
            fix: "sed -i '1s|^#!.*|#!~/bin/tool|' ~/\(program)"
        ) {
            try $0.writeProgram("bin/tool")
            try script("#!/nowhere/tool -x")($0)
        },
        Fault(
            "env finds no interpreter",
            noInterpreter,
            "is a script for no-such-interpreter",
            fix: "+1",
            script("#!/usr/bin/env no-such-interpreter")
        ),
        Fault(
            "the system's entry for the manifest is not there",
            noProgram,
            "names org.example.Notes.desktop as OUDesktopEntry",
            fix: "com.example.note.plist",
            { session in
                try change(
                    "<key>CFBundleExecutable</key><string>\(session.path(program))<",
                    "<key>OUDesktopEntry</key><string>org.example.Notes.desktop<"
                )(session)
            }
        ),
    ]

    // MARK: Entries

    private static let copy = "> ~/\(Session.applications)/app.desktop && update-desktop-database"

    private static let entries: [Fault] = [
        Fault(
            "an entry has no field code",
            ["fail no-field-code app"].desktop,
            "has no %u",
            fix: "sed -i 's/^Exec=.*/& %u/'"
        ) {
            try $0.writeEntry("app", opening: ["app"], command: "\($0.writeProgram("home/app"))")
        },
        Fault("an entry of the system has no field code", ["fail no-field-code app"].desktop, "has no %u", fix: copy) {
            try $0.writeEntry(
                "app",
                in: Session.systemApplications,
                opening: ["app"],
                command: "\($0.writeProgram("home/app"))"
            )
        },
        Fault("one of two entries has no field code", ["warn no-field-code app"].desktop, "has no %u", fix: "sed") {
            try $0.writeEntry("app", opening: ["app"], command: "\($0.writeProgram("home/app"))")
            try $0.writeEntry("best", opening: ["app"])
            try $0.choose("x-scheme-handler/app=best.desktop")
        },
        Fault(
            "the program of an entry is not there",
            ["fail entry-program app"].desktop,
            "starts /opt/app, which does not exist",
            fix: "EDITOR"
        ) {
            try $0.writeEntry("app", opening: ["app"], command: "/opt/app %u")
        },
        Fault(
            "an AppImage is not there",
            ["fail entry-program app"].desktop,
            "starts the AppImage /mnt/App.AppImage, which does not exist (is its medium mounted?)",
            fix: "EDITOR"
        ) {
            try $0.writeEntry("app", opening: ["app"], command: "/mnt/App.AppImage %u")
        },
        Fault(
            "no directory of PATH has an entry's program",
            ["fail entry-program app"].desktop,
            "starts no-such-app, which is not on PATH",
            fix: "EDITOR"
        ) {
            try $0.writeEntry("app", opening: ["app"], command: "no-such-app %u")
        },
        Fault(
            "the program of an entry is not executable",
            ["fail entry-program app"].desktop,
            "which is not executable",
            fix: "EDITOR"
        ) {
            try $0.writeEntry("app", opening: ["app"], command: "\($0.writeProgram("home/app", mode: 0o644)) %u")
        },
        Fault(
            "TryExec leads nowhere",
            ["fail entry-program app"].desktop,
            "starts /opt/try, which does not exist",
            fix: "EDITOR"
        ) {
            try $0.writeEntry("app", opening: ["app"], "TryExec=/opt/try")
        },
        Fault(
            "a chosen entry's program is not there",
            ["fail entry-program app"].desktop,
            "starts /opt/app, which does not exist",
            fix: "openurl default note com.example.note"
        ) {
            try $0.writeEntry("app", opening: ["note"], command: "/opt/app %u")
            try $0.choose("x-scheme-handler/note=app.desktop")
        },
        Fault(
            "Exec cannot be read",
            about: "app",
            ["fail entry app.desktop", "fail claimants app:", "fail openurl openurl"],
            "cannot be used: Exec",
            fix: "EDITOR"
        ) {
            try $0.writeEntry("app", opening: ["app"], command: "\"/opt/app %u")
            try $0.choose("x-scheme-handler/app=app.desktop")
        },
        Fault(
            "Exec has quotation marks",
            ["warn exec-quoting app"].desktop,
            "quotation marks or backslashes",
            fix: "ln -sf '~/home/My App/app' ~/home/.local/bin/app"
        ) {
            try $0.writeEntry("app", opening: ["app"], command: "\"\($0.writeProgram("home/My App/app"))\" %u")
        },
        Fault(
            "Exec has quotation marks without need",
            ["warn exec-quoting app"].desktop,
            "quotation marks or backslashes",
            fix: "sed -i"
        ) {
            try $0.writeEntry("app", opening: ["app"], command: "\"\($0.writeProgram("home/app"))\" %u")
        },
        Fault(
            "the default does not claim the scheme",
            about: "app",
            ["warn no-mime-type app"].desktop,
            "does not claim it in MimeType",
            fix: "/a MimeType=x-scheme-handler/app;"
        ) {
            try $0.writeEntry("app", opening: [])
            try $0.choose("x-scheme-handler/app=app.desktop")
        },
        Fault(
            "the default claims only another scheme",
            about: "app",
            ["warn no-mime-type app"].desktop,
            "does not claim it in MimeType",
            fix: "s|^MimeType=|&x-scheme-handler/app;|"
        ) {
            try $0.writeEntry("app", opening: ["news"])
            try $0.choose("x-scheme-handler/app=app.desktop")
        },
        Fault(
            "an application that is no browser gets web pages",
            ["warn web app"].desktop,
            "is not a browser",
            fix: "s|x-scheme-handler/https\\?;||g"
        ) {
            try $0.writeEntry("app", opening: ["http"])
        },
        Fault(
            "an application comes before the browser",
            ["warn web app"].desktop,
            "is not a browser, before web.desktop",
            fix: "gio mime x-scheme-handler/http web.desktop"
        ) {
            try $0.writeEntry("app", opening: ["http"])
            try $0.writeEntry("web", in: Session.systemApplications, opening: ["http"], "Categories=WebBrowser;")
        },
    ]

    // MARK: Claims and choices

    private static let claims: [Fault] = [
        Fault(
            "two applications claim a scheme",
            about: "app",
            ["warn claimants app:"],
            "is claimed by one.desktop, two.desktop, but no default is chosen",
            fix: "openurl default app one.desktop"
        ) {
            try $0.writeEntry("one", opening: ["app"])
            try $0.writeEntry("two", opening: ["app"])
        },
        Fault(
            "a handler and an application claim a scheme",
            ["warn claimants note:"],
            "but no default is chosen",
            fix: "openurl default note app.desktop"
        ) {
            try $0.writeEntry("app", opening: ["note"])
        },
        Fault(
            "two handlers claim a scheme",
            ["warn claimants note:"],
            "is claimed by com.example",
            fix: "openurl default note com.example"
        ) {
            try $0.register("com.example.second")
            try $0.publish()
        },
        Fault(
            "the chosen entry is not there",
            ["warn lost-default note: gone.desktop"],
            "no desktop entry has this name",
            fix: "openurl default note com.example.note"
        ) {
            try $0.choose("x-scheme-handler/note=gone.desktop")
        },
        Fault(
            "the entry that the desktop's own file names is not there",
            ["warn lost-default note: gone.desktop"],
            "no desktop entry has this name",
            fix: "openurl default note"
        ) {
            $0.variables["XDG_CURRENT_DESKTOP"] = "GNOME"
            try $0.choose("x-scheme-handler/note=gone.desktop", in: "home/.config/gnome-mimeapps.list")
        },
        Fault(
            "nothing claims a scheme",
            about: "unknown",
            ["fail claimants unknown:", "fail openurl openurl"],
            "no handler and no application claims it",
            fix: "openurl register PATH"
        ) { _ in },
        Fault(
            "a scheme is misspelt",
            about: "notee",
            ["fail claimants notee:", "fail openurl openurl"],
            "no handler and no application claims it",
            fix: nil
        ) { _ in },
    ]

    // MARK: Associations

    private static let list = "mimeapps.list"

    private static let associations: [Fault] = [
        Fault(
            "the file of associations is a link",
            ["warn mimeapps-link \(list)"],
            "is a link to ~/home/dotfile",
            fix: "cp --remove-destination ~/home/dotfile ~/\(Session.associations)"
        ) {
            try $0.root.link(Session.associations, to: $0.root.write("[Default Applications]\n", to: "home/dotfile"))
        },
        Fault(
            "the file of associations is a link that leads nowhere",
            ["warn mimeapps-link \(list)"],
            "is a link to",
            fix: "rm ~/\(Session.associations)"
        ) {
            try $0.root.link(Session.associations, to: "/nonexistent/dotfile")
        },
        Fault(
            "the file of associations cannot be written",
            ["warn mimeapps-read-only \(list)"],
            "cannot be written",
            fix: "chmod u+w ~/\(Session.associations)"
        ) {
            try $0.choose()
            try #require(chmod($0.path(Session.associations), 0o444) == 0)
        },
        Fault(
            "a line is there twice",
            ["warn mimeapps-duplicate \(list)"],
            "appears twice",
            fix: "openurl default note com.example.note"
        ) {
            let line = "x-scheme-handler/note=com.example.note.desktop"
            try $0.choose(line, line)
        },
        Fault(
            "a group is unknown",
            ["warn mimeapps-group \(list)"],
            "has the group [Defaults]",
            fix: "sed -i '/^\\[Defaults\\]$/"
        ) {
            try $0.root.write("[Defaults]\nx-scheme-handler/note=gone.desktop\n", to: Session.associations)
        },
        Fault("a group has a name for sed", ["warn mimeapps-group \(list)"], "has the group [a/b]", fix: "EDITOR") {
            try $0.root.write("[a/b]\n", to: Session.associations)
        },
        Fault(
            "a line has no value",
            ["fail mimeapps \(list)"],
            """
            line 2 is neither a comment nor a group nor a key with its value, so GLib, and with it GNOME's programs, \
            ignores the whole file
            """,
            fix: "EDITOR"
        ) {
            try $0.choose("text/plain")
        },
        // GLib accepts the line, and the others still count.
        Fault(
            "a line has a key with a blank",
            ["warn mimeapps \(list)"],
            "[Default Applications] text plain is not a MIME type",
            fix: "EDITOR"
        ) {
            try $0.choose("text plain=com.example.note.desktop")
        },
        Fault("a line names no entry", ["warn mimeapps \(list)"], "x-scheme-handler/note", fix: "EDITOR") {
            try $0.choose("x-scheme-handler/note=com.example.note")
        },
    ]

    // MARK: Caches

    private static let cache = "mimeinfo.cache"

    private static let caches: [Fault] = [
        Fault(
            "the cache is empty",
            ["fail stale-cache \(cache)"],
            "differs from the entries",
            fix: "update-desktop-database ~/\(Session.applications)"
        ) {
            try $0.root.write("[MIME Cache]\n", to: "\(Session.applications)/\(cache)")
        },
        Fault(
            "the cache is missing",
            ["fail stale-cache \(cache)"],
            "is missing, so GLib finds no entry",
            fix: "update-desktop-database ~/\(Session.applications)"
        ) {
            try #require(unlink($0.path("\(Session.applications)/\(cache)")) == 0)
        },
        Fault(
            "the cache names an entry that is gone",
            ["fail stale-cache \(cache)"],
            "differs from the entries",
            fix: "update-desktop-database"
        ) {
            try $0.writeEntry("app", opening: ["app"])
            try #require(unlink($0.path("\(Session.applications)/app.desktop")) == 0)
        },
        Fault(
            "the cache is that of an older entry",
            ["fail stale-cache \(cache)"],
            "differs from the entries",
            fix: "update-desktop-database"
        ) {
            try $0.writeEntry("app", opening: ["app"])
            let text = "[MIME Cache]\nx-scheme-handler/note=com.example.note.desktop;\n"
            try $0.root.write(text, to: "\(Session.applications)/\(cache)")
        },
        Fault(
            "the cache of the system is missing",
            ["warn stale-cache \(cache)"],
            "is missing",
            fix: "sudo update-desktop-database ~/share/applications"
        ) {
            try $0.writeEntry("app", in: Session.systemApplications, opening: ["app"])
            try #require(unlink($0.path("\(Session.systemApplications)/\(cache)")) == 0)
        },
    ]
}

extension [String] {
    /// The labels, with the suffix of desktop entries.
    fileprivate var desktop: [String] { map { "\($0).desktop" } }
}
