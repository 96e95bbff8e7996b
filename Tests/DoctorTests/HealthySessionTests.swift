import Glibc
import TestSupport
import Testing
import UserFiles

@testable import Doctor

/// Sessions in which every URL arrives. A doctor that accuses one of them sends a person after a fault that is not there.
@Suite struct HealthySessionTests {
    private typealias Session = ExaminedSession

    @Test(arguments: changes, [nil, "note", "note:1", "NOTE", "com.example.note", "com.example.note.desktop"])
    func healthySessionHasNoFault(_ change: FileChange, topic: String?) throws {
        let session = try ExaminedSession()
        try change.perform(session)
        #expect(try session.faults(about: topic) == [])
    }

    /// Handlers and applications of other kinds, and topics that are about them.
    @Test(arguments: others)
    func healthyTopicHasNoFault(_ change: FileChange, topic: String) throws {
        let session = try ExaminedSession()
        try change.perform(session)
        for topic in [nil, topic] { #expect(try session.faults(about: topic) == [], "\(topic ?? "")") }
    }

    private static let others: [(FileChange, String)] = [
        (
            FileChange("a handler is only for the user's own programs") {
                try $0.register(
                    "com.example.local",
                    schemes: ["local"],
                    keys: "<key>OUReach</key><string>local</string>"
                )
                try $0.publish()
                // These programs see no entry, as it should be.
                try $0.writeProgram("bin/gio", "#!/bin/sh\necho 'No default applications for x'\n")
                try $0.writeProgram("bin/xdg-mime", "#!/bin/sh\n")
            }, "local"
        ),
        (
            FileChange("a handler is a command") {
                try $0.register("com.example.cat", schemes: ["cat"], command: ["/bin/cat", "%u"])
                try $0.publish()
            }, "com.example.cat"
        ),
        (
            FileChange("a command is a script of a shell") {
                let words = ["/bin/sh", "-c", "cat > ~/notes | wc", "sh", "%u"]
                try $0.register(
                    "com.example.pipe",
                    schemes: ["pipe"],
                    command: words.map { $0.replacing(">", with: "&gt;") }
                )
                try $0.publish()
            }, "com.example.pipe"
        ),
        (
            FileChange("a handler has certain hosts") {
                try $0.register("com.example.pad", schemes: ["pad"], hosts: ["example.com", "*.example.org"])
                try $0.publish()
            }, "pad://www.example.org/x"
        ),
        (
            FileChange("the topic is a handler of certain hosts") {
                try $0.register("com.example.pad", schemes: ["pad"], hosts: ["example.com", "*.example.org"])
                try $0.publish()
            }, "com.example.pad"
        ),
        (
            FileChange("a handler opens only files") { session in
                try session.register("com.example.files", schemes: ["files"])
                let manifest = "home/manifests/com.example.files.plist"
                let types = "CFBundleDocumentTypes</key><array><dict><key>CFBundleTypeMIMETypes"
                let text = try session.text(manifest).replacing("CFBundleURLTypes", with: types)
                try session.root.write(
                    text.replacing("<key>CFBundleURLSchemes</key>", with: "").replacing(
                        "<dict><key>CFBundleTypeMIMETypes</key><array><dict>",
                        with: "<dict><key>CFBundleTypeMIMETypes</key>"
                    ).replacing(
                        "<string>files</string></array></dict></array>",
                        with: "<string>text/x-note</string></array></dict></array>"
                    ),
                    to: manifest
                )
                try session.publish()
            }, "com.example.files"
        ),
        (
            FileChange("a snap is installed") { session in
                try session.writeProgram("bin/env")
                let program = try session.writeProgram("snap/bin/app")
                try session.writeEntry("snap", opening: ["app"], command: "env BAMF_DESKTOP_FILE_HINT=/x \(program) %u")
            }, "snap.desktop"
        ),
        (
            FileChange("an application of Flatpak is installed") { session in
                try session.root.makeDirectory("home/.local/share/flatpak/app/org.example.App")
                let flatpak = try session.writeProgram("bin/flatpak")
                let command = "\(flatpak) run --branch=stable --file-forwarding org.example.App @@u %u @@"
                try session.writeEntry(
                    "org.example.App",
                    in: Session.systemApplications,
                    opening: ["app"],
                    command: command
                )
            }, "app"
        ),
        (
            FileChange("the handler is chosen before an application") { session in
                try session.writeEntry("app")
                try session.choose("x-scheme-handler/note=com.example.note.desktop;app.desktop;")
            }, "com.example.note"
        ),
        (
            FileChange("the home cannot be written, and everything is there") { $0.obstacle = "the disk is full" },
            "com.example.note"
        ),
        (
            FileChange("a package has an entry of its own for its handler") { session in
                try session.register("com.example.packed", schemes: ["packed"])
                try session.publish()
                try #require(unlink(session.path("\(Session.applications)/com.example.packed.desktop")) == 0)
                let command = "\(session.path("bin/openurl")) %u"
                try session.writeEntry(
                    "com.example.packed",
                    in: Session.systemApplications,
                    opening: ["packed"],
                    command: command
                )
                try session.rebuildCache()
            }, "packed"
        ),
    ]

    /// A part without a fault says so once.
    @Test func eachPartIsSound() throws {
        let session = try ExaminedSession()
        let sound = try session.findings().filter { $0.level == .ok }.map { "\($0.check): \($0.subject) \($0.message)" }
        #expect(
            sound == [
                "handlers: handlers 1 handler is registered and can be started",
                "entries: the entries of 1 scheme can pass URLs on",
                "mimeapps: mimeapps.list names the defaults and has no problems",
            ]
        )
    }

    @Test func sessionWithoutHandlersHasNoFault() throws {
        let session = try ExaminedSession(hasHandler: false)
        #expect(try session.faults() == [])
        let handlers = try session.findings(in: [.handlers])
        #expect(handlers.map(\.message) == ["you have not registered any handlers of your own"])
    }

    @Test func homeWithoutDirectoriesHasNoFault() throws {
        let session = try ExaminedSession(hasHandler: false)
        session.variables["HOME"] = session.path("nobody")
        #expect(try session.faults() == [])
        session.variables["HOME"] = nil
        #expect(try session.faults() == [])
    }

    private static let changes: [FileChange] = [
        FileChange("nothing is changed"),
        FileChange("the handler is chosen") { try $0.choose("x-scheme-handler/note=com.example.note.desktop") },
        FileChange("the line ends with a separator") {
            try $0.choose("x-scheme-handler/note=com.example.note.desktop;")
        },
        FileChange("the file of associations is empty") { try $0.root.write("", to: Session.associations) },
        FileChange("the file of associations has comments and empty lines") {
            try $0.choose("", "# the reader of notes", "x-scheme-handler/note=com.example.note.desktop")
        },
        FileChange("the file of associations has all three groups") {
            try $0.root.write(
                """
                [Added Associations]
                text/plain=com.example.note.desktop;
                [Removed Associations]
                text/html=com.example.note.desktop;
                [Default Applications]
                x-scheme-handler/note=com.example.note.desktop

                """,
                to: Session.associations
            )
        },
        FileChange("the file of associations has a group of an extension") {
            try $0.root.write("[X-Example Settings]\nkey=value\n", to: Session.associations)
        },
        FileChange("the desktop has a file of associations of its own") { session in
            session.variables["XDG_CURRENT_DESKTOP"] = "GNOME"
            try session.choose(
                "x-scheme-handler/note=com.example.note.desktop",
                in: "home/.config/gnome-mimeapps.list"
            )
        },
        FileChange("a default of the distribution is not installed, and the user has chosen") { session in
            try session.choose(
                "x-scheme-handler/note=com.vendor.notes.desktop",
                in: "\(Session.systemApplications)/mimeapps.list"
            )
            try session.choose("x-scheme-handler/note=com.example.note.desktop")
        },
        FileChange("a default of the distribution is not installed") {
            try $0.choose(
                "x-scheme-handler/note=com.vendor.notes.desktop",
                in: "\(Session.systemApplications)/mimeapps.list"
            )
        },
        FileChange("a default in the distribution's old file is not installed") {
            try $0.choose(
                "x-scheme-handler/note=com.vendor.notes.desktop",
                in: "\(Session.systemApplications)/defaults.list"
            )
        },
        FileChange("a default of the administrator is not installed") {
            try $0.choose("x-scheme-handler/note=com.vendor.notes.desktop", in: "etc/mimeapps.list")
        },
        FileChange("an application opens another scheme") { try $0.writeEntry("reader", opening: ["news"]) },
        FileChange("an application of the system opens another scheme") {
            try $0.writeEntry("reader", in: Session.systemApplications, opening: ["news"])
        },
        FileChange("an application opens no URLs, and its directory has no cache") { session in
            try session.root.write(
                "[Desktop Entry]\nType=Application\nName=Clock\nExec=clock\n",
                to: "\(Session.systemApplications)/clock.desktop"
            )
        },
        FileChange("an application of the system whose program is not installed opens another scheme") {
            try $0.writeEntry("reader", in: Session.systemApplications, opening: ["news"], command: "/opt/reader %u")
        },
        FileChange("an application of the system is not there, as TryExec says") { session in
            try session.writeEntry(
                "reader",
                in: Session.systemApplications,
                opening: ["news"],
                command: "reader %u",
                "TryExec=/opt/reader"
            )
        },
        FileChange("a hidden entry claims the scheme") {
            try $0.writeEntry("old", opening: ["note"], command: "/opt/old %u", "Hidden=true")
        },
        FileChange("an entry of the user hides one of the system") { session in
            try session.writeEntry("reader", in: Session.systemApplications, opening: ["note"])
            try session.writeEntry("reader", opening: [], "Hidden=true")
        },
        FileChange("a link in the directory of entries leads nowhere") {
            try $0.root.link("\(Session.applications)/broken.desktop", to: "/nonexistent/broken.desktop")
        },
        FileChange("the entry of a web page's shortcut has no scheme") {
            try $0.writeEntry("page", opening: [], "StartupWMClass=page")
        },
        FileChange("a browser opens web pages") {
            try $0.writeEntry("browser", opening: ["http", "https"], "Categories=Network;WebBrowser;")
        },
        FileChange("a browser comes before another application for web pages") { session in
            try session.writeEntry("browser", opening: ["http", "https"], "Categories=Network;WebBrowser;")
            try session.writeEntry("reader", in: Session.systemApplications, opening: ["http", "https"])
            try session.choose("x-scheme-handler/http=browser.desktop", "x-scheme-handler/https=browser.desktop")
        },
        FileChange("Exec has a field code for lists") { session in
            let program = try session.writeProgram("home/programs/reader")
            try session.writeEntry("reader", opening: ["news"], command: "\(program) --open %U")
        },
        FileChange("Exec has a field code for files") { session in
            let program = try session.writeProgram("home/programs/reader")
            try session.writeEntry("reader", opening: ["news"], command: "\(program) %f")
        },
        FileChange("Exec has quotation marks, and GNOME's program opens URLs") { session in
            session.variables["XDG_CURRENT_DESKTOP"] = "ubuntu:GNOME"
            let program = try session.writeProgram("home/My Apps/reader")
            try session.writeEntry("reader", opening: ["news"], command: "\"\(program)\" %u")
        },
        FileChange("Exec has variables of Wine, and Xfce's program opens URLs") { session in
            session.variables["XDG_CURRENT_DESKTOP"] = "XFCE"
            for program in ["env", "wine"] { try session.writeProgram("bin/\(program)") }
            try session.writeEntry("reader", opening: ["news"], command: "env \"WINEPREFIX=/home/me/.wine\" wine %u")
        },
        FileChange("Exec names a program of PATH") { session in
            try session.writeProgram("bin/reader")
            try session.writeEntry("reader", opening: ["news"], command: "reader %u")
        },
        FileChange("the program of an entry is a link") { session in
            try session.root.link("bin/reader", to: session.writeProgram("home/programs/reader"))
            try session.writeEntry("reader", opening: ["news"], command: "reader %u")
        },
        FileChange("an entry is in a folder") {
            try $0.writeEntry("folder/reader", opening: ["news"])
        },
        FileChange("a second handler has another scheme") { session in
            try session.register("com.example.other", schemes: ["other"])
            try session.publish()
        },
        FileChange("a handler has several schemes") { session in
            try session.register("com.example.many", schemes: ["one", "two", "x.three", "four+five"])
            try session.publish()
        },
        FileChange("a handler names a program of PATH") { session in
            try session.writeProgram("bin/other")
            try session.register(
                "com.example.other",
                schemes: ["other"],
                program: "other",
                keys: "<key>OUEnvironment</key><dict><key>PATH</key><string>\(session.path("bin"))</string></dict>"
            )
            try session.publish()
        },
        FileChange("the program of a handler is a link") { session in
            let program = try session.writeProgram("home/programs/real")
            try session.root.link("home/programs/link", to: program)
            try session.register("com.example.other", schemes: ["other"], program: session.path("home/programs/link"))
            try session.publish()
        },
        FileChange("the program of a handler is a script for env") { session in
            try session.writeProgram("bin/interpreter")
            // The session's PATH has the interpreter.
            let program = try session.writeProgram("home/programs/script", "#!/usr/bin/env interpreter\n")
            try session.register("com.example.other", schemes: ["other"], program: program)
            try session.publish()
        },
        FileChange("the program of a handler has no interpreter") { session in
            try session.register("com.example.other", schemes: ["other"], program: "/bin/true")
            try session.publish()
        },
        FileChange("the manifest is a file in the directory of registrations") { session in
            try session.root.write(
                ExaminedSession.manifest(
                    "com.example.other",
                    schemes: ["other"],
                    program: try session.writeProgram("home/programs/other")
                ),
                to: "\(Session.handlers)/com.example.other.plist"
            )
            try session.publish()
        },
        FileChange("the manifest has keys of Apple that are not used here") { session in
            try session.register(
                "com.example.other",
                schemes: ["other"],
                keys:
                    "<key>CFBundlePackageType</key><string>APPL</string><key>NSHumanReadableCopyright</key><string>me</string>"
            )
            try session.publish()
        },
        FileChange("the manifest has every time limit") { session in
            let limits = ["OULaunchTimeout", "OUOpenTimeout", "OUSuspendDelay", "OUTransitionTimeout"]
            try session.register(
                "com.example.other",
                schemes: ["other"],
                keys: limits.map { "<key>\($0)</key><real>9</real>" }.joined()
            )
            try session.publish()
        },
        FileChange("the desktop is KDE") { $0.variables["XDG_CURRENT_DESKTOP"] = "KDE" },
        FileChange("a program of KDE is installed in another desktop") { try $0.writeProgram("bin/kioclient") },
        FileChange("gio and xdg-mime choose the handler") { session in
            try session.writeProgram(
                "bin/gio",
                "#!/bin/sh\necho 'Default application for “x-scheme-handler/note”: com.example.note.desktop'\n"
            )
            try session.writeProgram("bin/xdg-mime", "#!/bin/sh\necho com.example.note.desktop\n")
        },
        FileChange("the directories are written with slashes at the end") { session in
            session.variables["XDG_DATA_DIRS"] = session.path("share/") + ":" + session.path("share//")
            session.variables["HOME"] = session.path("home/")
        },
        FileChange("the list of directories has relative and empty ones") { session in
            session.variables["XDG_DATA_DIRS"] = "::share:" + session.path("share") + ":"
        },
        FileChange("a directory of data does not exist") { session in
            session.variables["XDG_DATA_DIRS"] = "/nonexistent:" + session.path("share")
        },
        FileChange("the language is not English") { session in
            session.variables["LANG"] = "de_DE.UTF-8"
            try session.writeEntry("reader", opening: ["news"], "Name[de]=Leser")
        },
    ]
}
