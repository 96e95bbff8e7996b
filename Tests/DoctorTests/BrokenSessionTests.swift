import Glibc
import SchemeRegistry
import TestSupport
import Testing
import UserFiles

@testable import Doctor

/// Sessions that authors of handlers and users of desktops really break. The doctor names each fault, and nothing else.
@Suite struct BrokenSessionTests {
    private typealias Session = ExaminedSession
    private typealias Fault = FileFaultTests.Fault

    @Test(arguments: programs + manifests + choices + publications + entries + storage)
    func faultIsNamed(_ fault: FileFaultTests.Fault) throws {
        try fault.check()
    }

    private static let id = "com.example.note"
    private static let desktop = "com.example.note.desktop"
    private static let service = "home/.local/share/dbus-1/services/com.example.note.service"

    // MARK: Programs

    private static func program(_ text: String) -> @Sendable (ExaminedSession) throws -> Void {
        { try $0.writeProgram("home/programs/\(id)", text) }
    }

    private static let programs = [
        Fault(
            "a script has no '#!'",
            ["fail interpreter \(id)"],
            "needs ~/home/programs/\(id), which has no '#!' in its first line",
            fix: "+1",
            program("print(1)\n")
        ),
        Fault(
            "a script has Windows line endings",
            ["fail interpreter \(id)"],
            "has Windows line endings",
            fix: #"sed -i 's/\r$//' ~/home/programs/\#(id)"#,
            program("#!/bin/sh\r\n")
        ),
        Fault("a program is empty", ["fail program \(id)"], "which is empty; build it again", fix: nil, program("")),
        Fault(
            "a program is for another system",
            ["fail program \(id)"],
            "which is a program for Windows; build it for Linux",
            fix: nil,
            program("MZ\0")
        ),
    ]

    // MARK: Manifests

    private static let manifests = [
        // A change of the device's mode would break the system.
        Fault(
            "a link leads to a device",
            ["fail manifest zero"],
            "device",
            fix: "rm ~/\(Session.handlers)/zero.plist"
        ) {
            try $0.root.write("", to: "\(Session.handlers)/placeholder")
            try #require(symlink("/dev/zero", $0.path("\(Session.handlers)/zero.plist")) == 0)
        },
        Fault(
            "two manifests have one identifier",
            ["fail manifest second"],
            "which \(id).plist already declares; remove one of the two",
            fix: "second.plist"
        ) {
            let text = Session.manifest(id, schemes: ["note"], program: "/bin/true")
            try $0.root.write(text, to: "\(Session.handlers)/second.plist")
        },
        Fault(
            "a command needs a shell",
            about: "com.example.shell",
            ["warn manifest-key com.example.shell"],
            "OUCommand[2] is '|', but no shell reads this command",
            fix: "+"
        ) {
            try $0.register("com.example.shell", schemes: ["shell"], command: ["/bin/cat", "%u", "|"])
            try $0.publish()
        },
        Fault(
            "another program has the identifier as its bus name",
            ["fail manifest com.example.taken"],
            "another program's bus name: ~/share/dbus-1/services/taken.service declares it",
            fix: "com.example.taken.plist"
        ) {
            let text = "[D-BUS Service]\nName=com.example.taken\nExec=/usr/bin/taken\n"
            try $0.root.write(text, to: "share/dbus-1/services/taken.service")
            try $0.register("com.example.taken", schemes: ["taken"])
        },
        Fault(
            "no handler claims the host",
            about: "pad://other.example/",
            ["fail openurl openurl"],
            "has no handler for pad: with the host other.example",
            fix: "openurl list"
        ) {
            try $0.register("com.example.pad", schemes: ["pad"], hosts: ["example.com"])
            try $0.publish()
        },
    ]

    // MARK: Choices

    private static func choice(_ name: String, in file: String, desktop: String? = nil) -> FileFaultTests.Fault {
        Fault(
            name,
            about: id,
            ["warn other-choice \(id)"],
            "does not get note:, because ~/\(file) chooses app.desktop",
            fix: "openurl default note \(id)"
        ) {
            if let desktop { $0.variables["XDG_CURRENT_DESKTOP"] = desktop }
            try $0.writeEntry("app")
            try $0.choose("x-scheme-handler/note=app.desktop", in: file)
        }
    }

    private static let choices = [
        choice("another application is chosen", in: Session.associations),
        choice(
            "the desktop's file chooses another application",
            in: "home/.config/gnome-mimeapps.list",
            desktop: "GNOME"
        ),
        choice(
            "the file of one of two desktops chooses another application",
            in: "home/.config/ubuntu-mimeapps.list",
            desktop: "ubuntu:GNOME"
        ),
        choice("the administrator chooses another application", in: "etc/mimeapps.list"),
        choice("the distribution chooses another application", in: "\(Session.systemApplications)/mimeapps.list"),
        choice("an old file of the user chooses another application", in: "\(Session.applications)/mimeapps.list"),
        Fault(
            "another handler has the scheme",
            about: id,
            ["warn claimants note:"],
            "but no default is chosen",
            fix: "openurl default note \(id)"
        ) {
            try $0.register("com.example.earlier")
            let time = timespec(tv_sec: 1, tv_nsec: 0)
            let link = $0.path("\(Session.handlers)/com.example.earlier.plist")
            try #require(utimensat(AT_FDCWD, link, [time, time], AT_SYMLINK_NOFOLLOW) == 0)
            try $0.publish()
        },
        Fault(
            "the association with the handler is removed",
            about: id,
            ["fail removed-association \(id)"],
            "does not get note: from the desktop, because ~/\(Session.associations) removes it",
            fix: "openurl default note \(id)"
        ) {
            try $0.root.write(
                "[Removed Associations]\nx-scheme-handler/note=\(desktop);\n",
                to: Session.associations
            )
        },
    ]

    // MARK: Publication

    private static let reload = "org.openurl.Registry1.Reload"

    private static let publications = [
        Fault("the handler has no entry", ["fail unpublished \(id)"], "has no desktop entry", fix: reload) {
            try #require(unlink($0.path("\(Session.applications)/\(desktop)")) == 0)
            try $0.rebuildCache()
        },
        Fault(
            "the handler's entry starts a command that is gone",
            ["fail stale-entry \(id)"],
            "has a desktop entry that starts ~/bin/openurl, which does not exist",
            fix: reload
        ) {
            try #require(unlink($0.path("bin/openurl")) == 0)
            try #require(unlink($0.path(service)) == 0)
            try $0.root.write("[D-BUS Service]\nName=\(id)\nExec=/bin/true\nX-OpenURL-Handler=\(id)\n", to: service)
        },
        Fault(
            "another program's entry is in the place of the handler's",
            ["warn foreign-entry \(id)"],
            "is not reachable from the desktop, because another entry has its name",
            fix: "rm ~/\(Session.applications)/\(desktop)"
        ) {
            try $0.writeEntry(id, opening: ["other"])
        },
        Fault(
            "the handler has no service file",
            ["warn no-service-file \(id)"],
            "has no D-Bus service file, so a call to its name does not start it",
            fix: reload
        ) {
            try #require(unlink($0.path(service)) == 0)
        },
        Fault(
            "the handler's service file starts a command that is gone",
            ["fail stale-service \(id)"],
            "has a D-Bus service file that starts /opt/old/openurl, which does not exist",
            fix: reload
        ) {
            let text =
                "[D-BUS Service]\nName=\(id)\nExec=/opt/old/openurl activate --background \(id)\nX-OpenURL-Handler=\(id)\n"
            try $0.root.write(text, to: service)
        },
    ]

    // MARK: Entries

    private static let entries = [
        Fault(
            "a snap is gone",
            ["fail entry-program snap.desktop"],
            "starts /nonexistent/snap/bin/app, which does not exist",
            fix: "EDITOR"
        ) {
            try $0.writeProgram("bin/env")
            try $0.writeEntry(
                "snap",
                opening: ["app"],
                command: "env BAMF_DESKTOP_FILE_HINT=/x /nonexistent/snap/bin/app %u"
            )
        },
        Fault(
            "flatpak is not installed",
            ["fail entry-program org.example.App.desktop"],
            "starts /usr/lib/no-flatpak, which does not exist",
            fix: "EDITOR"
        ) {
            let command = "/usr/lib/no-flatpak run --branch=stable --file-forwarding org.example.App @@u %u @@"
            try $0.writeEntry("org.example.App", opening: ["app"], command: command)
        },
        Fault(
            "a Flatpak application is not installed",
            ["fail entry-program org.example.App.desktop"],
            "starts the Flatpak application org.example.App, which is not installed",
            fix: "EDITOR"
        ) {
            let flatpak = try $0.writeProgram("bin/flatpak")
            let command = "\(flatpak) run --branch=stable --file-forwarding org.example.App @@u %u @@"
            try $0.writeEntry("org.example.App", opening: ["app"], command: command)
        },
        Fault(
            "mimeapps.list is a directory",
            ["fail mimeapps mimeapps.list"],
            "is a directory, not a file",
            fix: "mv ~/home/.config/mimeapps.list ~/home/.config/mimeapps.list.old"
        ) {
            try $0.root.makeDirectory(Session.associations)
        },
    ]

    // MARK: Storage

    private static let storage = [
        Fault(
            "the cache is stale and the disk is full",
            ["fail stale-cache mimeinfo.cache"],
            "differs from the entries beside it; it cannot be rebuilt, because the disk is full",
            fix: nil
        ) {
            $0.obstacle = "the disk is full"
            try $0.root.write("[MIME Cache]\n", to: "\(Session.applications)/mimeinfo.cache")
        },
        Fault(
            "the handler has no entry and the home cannot be written",
            ["fail unpublished \(id)"],
            "can find it; it cannot be written, because the file system is read-only",
            fix: nil
        ) {
            $0.obstacle = "the file system is read-only"
            try #require(unlink($0.path("\(Session.applications)/\(desktop)")) == 0)
            try $0.rebuildCache()
        },
    ]
}
