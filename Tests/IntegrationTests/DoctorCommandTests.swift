import Foundation
import Testing

/// The ways in which a link does nothing, each made for real: the doctor names the fault and what mends it, and then the URL
/// arrives.
@Suite(.timeLimit(.minutes(10))) struct DoctorCommandTests {
    @Test(arguments: Breakage.all) func doctorNamesTheFaultAndItsMend(_ breakage: Breakage) async throws {
        let session = try await DoctorSession(startsRouter: breakage.startsRouter)
        defer { session.stop() }
        let damage = try await session.shell(breakage.damage)
        try #require(damage.status == 0, "\(damage.errors)")
        let command = breakage.command
        let before = try await session.doctor(breakage.topic, breakage.variables, command: command)
        let fault = before.first { $0.check == breakage.check && $0.isFault }
        let found = try #require(fault, "\(before.filter(\.isFault))")
        #expect(found.level == breakage.level)
        let fix = try #require(found.fix)

        switch breakage.mend {
        case .byDoctor:
            let after = try await session.doctor("\(breakage.topic) --fix", breakage.variables, command: command)
            #expect(!after.contains { $0.check == breakage.check && $0.isFault }, "\(after.filter(\.isFault))")
        case .byCommand:
            // A program in the background takes its name some time later.
            let wait = fix.hasSuffix("&") ? "\ngdbus wait --session --timeout 60 org.openurl.Router1" : ""
            let run = try await session.shell(#"PATH="$BIN:$PATH"; "# + fix + wait, breakage.variables)
            #expect(run.status == 0, "\(fix): \(run.errors)")
            let after = try await session.doctor(breakage.topic, breakage.variables, command: command)
            #expect(!after.contains { $0.check == breakage.check && $0.isFault }, "\(after.filter(\.isFault))")
        }
        let arrival = try await session.shell(breakage.arrival, breakage.openerVariables)
        #expect(arrival.status == 0, "\(arrival.output)\(arrival.errors)")
    }

    @Test func healthySessionHasNoFault() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        let display = ["DISPLAY": ":9"]
        // The router starts with the display, as in a session whose desktop has told the bus.
        let start = "dbus-update-activation-environment DISPLAY && register com.example.note"
        #expect(try await session.shell(start, display).status == 0)
        for arguments in ["", "note", "note:1", "com.example.note", "--probe", "note --probe"] {
            let findings = try await session.doctor(arguments, display)
            #expect(findings.filter(\.isFault) == [], "openurl doctor \(arguments)")
            guard arguments.hasSuffix("--probe") else { continue }
            let ways = findings.filter { $0.check == "probe" && $0.message.hasPrefix("arrived") }.map(\.subject)
            #expect(Set(ways).isSuperset(of: ["bus", "xdg-open", "gio open"]), "\(findings)")
        }
        // The probe did not reach the handler, and left no rule.
        let rest = try await session.shell(#"[ ! -e "$HOME/com.example.note.log" ] && "$BIN/openurl" policy"#)
        #expect(rest.status == 0 && !rest.output.contains("probe"), "\(rest)")
    }

    @Test func sessionWithoutBusIsExaminedAsFarAsPossible() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        let lose = """
            register com.example.note && rm $HOME/manifests/*.plist
            gdbus call --session --dest org.openurl.Router1 --object-path /org/openurl/Router1 \\
                --method org.openurl.Registry1.Reload
            """
        #expect(try await session.shell(lose).status == 0)
        let findings = try await session.doctor("", ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"])
        let faults = Set(findings.filter(\.isFault).map(\.check))
        #expect(faults == ["bus", "lost-manifest"])
        #expect(findings.first { $0.check == "bus" }?.fix == #"dbus-run-session -- "${SHELL:-sh}""#)
    }

    @Test func lostURLFailsTheProbe() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        #expect(try await session.shell("register com.example.note").status == 0)
        // GLib and xdg-open find nothing: their program leads nowhere.
        let broken =
            #"mkdir "$HOME/tools"; printf '#!/bin/sh\necho no display; exit 4\n' > "$HOME/tools/gio"; chmod +x "$HOME/tools/gio""#
        #expect(try await session.shell(broken).status == 0)
        let findings = try await session.doctor("note --probe", command: #"PATH="$HOME/tools:$PATH" "$BIN/openurl""#)
        let probes = findings.filter { $0.check == "probe" }
        #expect(probes.first { $0.subject == "gio open" }?.message == "did not arrive: no display")
        #expect(probes.first { $0.subject == "bus" }?.level == "ok")
    }

    /// KDE needs no line in mimeapps.list: the entry of a handler is enough. Between two entries, only a line decides.
    @Test func choiceOfKDEIsTheOneOfKDE() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        func choice(after script: String) async throws -> DoctorSession.Finding? {
            let run = try await session.shell(script)
            #expect(run.status == 0, "\(run)")
            return try await session.doctor("note", ["XDG_CURRENT_DESKTOP": "KDE"]).first { $0.check == "kde" }
        }
        let only = try await choice(after: #"register com.example.note && [ ! -e "$mimeapps" ]"#)
        #expect(only?.level == "ok" && only?.message.hasPrefix("com.example.note ") == true, "\(only as Any)")
        let other = #"program "$HOME/app"; entry app "$HOME/app %u" 'MimeType=x-scheme-handler/note;'"#
        let any = try await choice(after: other)
        #expect(any?.level == "warn" && any?.message.contains("any of app.desktop, com.example.note") == true)
        let chosen = try await choice(after: #""$BIN/openurl" default note com.example.note"#)
        #expect(chosen?.level == "ok" && chosen?.message.hasPrefix("com.example.note ") == true, "\(chosen as Any)")
    }

    /// xdg-desktop-portal without a backend has no interface `OpenURI`. The doctor blames the portal, and not openurl.
    @Test func portalWithoutABackendIsNamed() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        let portal = #"""
            register com.example.note
            stand_in portal_without_backend
            """#
        #expect(try await session.shell(portal).status == 0)
        let findings = try await session.doctor("note --probe")
        let portals = findings.filter { $0.check == "probe" && $0.subject == "portal" }
        #expect(portals.map(\.level) == ["fail"], "\(findings)")
        #expect(portals.first?.message.contains("has no backend") == true, "\(portals)")
        #expect(portals.first?.fix == nil, "\(portals)")
        #expect(findings.first { $0.check == "probe" && $0.subject == "bus" }?.level == "ok", "\(findings)")
    }

    /// A session sees nothing of this machine: a bus that could start its programs would make a test depend on its packages.
    @Test func sessionSeesNothingOfTheMachine() async throws {
        let session = try await DoctorSession(startsRouter: false)
        defer { session.stop() }
        let names = try await session.shell(
            """
            gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus \
                --method org.freedesktop.DBus.ListActivatableNames
            env | grep -E '^(XDG_|DBUS_)' | grep -v "=[^:]*$HOME"
            """
        )
        #expect(names.output.trimmingCharacters(in: .whitespacesAndNewlines) == "(['org.freedesktop.DBus'],)")
    }

    /// A failure whose reason is gone does not count as a warning. A refusal of a handler does not count either.
    @Test func pastFailureIsAWarningWhileItsReasonIsThere() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        func warnings(after script: String) async throws -> [String] {
            let run = try await session.shell(script)
            #expect(run.status == 0, "\(run)")
            return try await session.doctor("").filter { $0.check == "last-failure" && $0.isFault }.map(\.message)
        }
        let reason = "no handler claims the scheme note; register one with 'openurl register PATH'"
        let before = try await warnings(after: #"! "$BIN/openurl" note:1"#)
        #expect(before == ["the latest request ('note:1') failed: \(reason)"])
        #expect(try await warnings(after: "register com.example.note") == [])
        let refusal = #"""
            manifest com.example.other "$BIN/testhandler"
            sed -i 's|[.]log</string>|&<string>decline=no</string>|' "$HOME/manifests/com.example.other.plist"
            "$BIN/openurl" register "$HOME/manifests/com.example.other.plist"
            "$BIN/openurl" --handler com.example.other note:1
            [ $? = 1 ]
            """#
        #expect(try await warnings(after: refusal) == [])
    }

    /// A probe allows nothing that outlives it: a killed probe leaves neither a rule nor a claim.
    @Test func killedProbeLeavesNothing() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        let script = #"""
            manifest com.example.note "$BIN/testhandler"
            # A busy machine takes longer than usual to start the handler.
            limits='<key>OULaunchTimeout</key><integer>60</integer><key>OUOpenTimeout</key><integer>90</integer>'
            sed -i "s|</dict></plist>|$limits&|" "$HOME/manifests/com.example.note.plist"
            grep -q OULaunchTimeout "$HOME/manifests/com.example.note.plist" || exit 5
            "$BIN/openurl" register "$HOME/manifests/com.example.note.plist" > "$HOME/registered"
            mkdir "$HOME/tools"; mkfifo "$HOME/sent"
            # The end of the probe does not end the opener.
            trap 'kill "$(cat "$HOME/opener")"' EXIT
            printf '#!/bin/sh\n[ "$1" = open ] || exit 4\necho $$ > "%s/opener"\n' "$HOME" > "$HOME/tools/gio"
            printf 'echo "$2" > "%s/sent"; exec sleep 60\n' "$HOME" >> "$HOME/tools/gio"
            chmod +x "$HOME/tools/gio"
            PATH="$HOME/tools:$PATH" "$BIN/openurl" doctor note --probe > "$HOME/doctor.log" 2>&1 &
            url=$(timeout 60 head -n 1 "$HOME/sent")
            kill -9 $!
            wait $!
            [ $? = 137 ] || exit 3
            echo "$url"
            "$BIN/openurl" policy
            [ ! -e "$XDG_CONFIG_HOME/openurl/policy.conf" ] || cat "$XDG_CONFIG_HOME/openurl/policy.conf"
            # The URL goes to the handler again.
            "$BIN/openurl" "$url" && grep -q "^open $url" "$HOME/com.example.note.log" || exit 4
            """#
        let run = try await session.shell(script, ["DISPLAY": ":9"])
        #expect(run.status == 0, "\(run)")
        let lines = run.output.split(separator: "\n").map(String.init)
        let url = try #require(lines.first)
        #expect(url.hasPrefix("note://") && url.hasSuffix(".openurl-probe.invalid/"), "\(run)")
        #expect(!lines.dropFirst().contains { $0.contains("probe") }, "\(run)")
    }

    @Test func lostDefaultIsAFaultOfTheAssociations() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        let lose = """
            register com.example.note && register com.example.other
            mkdir -p "$XDG_CONFIG_HOME"
            printf '[Default Applications]\\nx-scheme-handler/note=gone.desktop\\n' > "$mimeapps"
            """
        #expect(try await session.shell(lose).status == 0)
        let findings = try await session.doctor("note")
        #expect(findings.contains { $0.check == "lost-default" && $0.isFault }, "\(findings)")
        #expect(!findings.contains { $0.check == "mimeapps" && $0.level == "ok" }, "\(findings)")
        let claimants = findings.first { $0.check == "claimants" }
        #expect(claimants?.message.hasSuffix("; the first one gets the URLs") == true, "\(findings)")
    }

    /// No manifest gets a fixed scheme, so the doctor advises neither to register one nor to choose a handler.
    @Test func fixedSchemeHasAdviceThatWorks() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        let findings = try await session.doctor("mailto")
        let fault = try #require(findings.first { $0.check == "openurl" && $0.level == "fail" }, "\(findings)")
        #expect(fault.fix == nil && fault.message.contains("'openurl default mailto NAME.desktop'"), "\(fault)")
        #expect(!findings.contains { $0.fix?.contains("register") == true }, "\(findings)")
        let misspelt = try await session.doctor("maito")
        let question = try #require(
            misspelt.first { $0.message.contains("; did you mean 'mailto:'? If not: ") },
            "\(misspelt)"
        )
        #expect(question.isFault, "\(misspelt)")
        #expect(!misspelt.contains { $0.fix?.contains("register") == true }, "\(misspelt)")
    }

    @Test func manifestIsNamedWithItsLine() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        let damage = """
            register com.example.note
            sed -i '2,$d' "$HOME/manifests/com.example.note.plist"
            printf '\\n<plist>\\n<dict>\\n<key>a</key>\\n<string>x</sting>\\n</dict></plist>\\n' \\
                > "$HOME/manifests/com.example.note.plist"
            """
        #expect(try await session.shell(damage).status == 0)
        let findings = try await session.doctor("")
        let fault = try #require(findings.first { $0.check == "manifest" && $0.level == "fail" }, "\(findings)")
        #expect(fault.line == 5 && fault.fix?.contains(" +5 ") == true, "\(fault)")
        let text = try await session.shell(#""$BIN/openurl" doctor"#)
        #expect(text.output.contains("com.example.note.plist:5\t"), "\(text.output)")
    }

    @Test func terminalGetsGroupsAndASummary() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        let script = #"script --quiet --return --command '"$BIN/openurl" doctor nosuch' /dev/null"#
        let run = try await session.shell("NO_COLOR=1 \(script)")
        let lines = run.output.split(whereSeparator: \.isNewline)
        #expect(run.status == 1)
        #expect(lines.first == "Session")
        #expect(lines.contains("        run:  openurl register PATH"), "\(run.output)")
        #expect(lines.last == "2 failures.", "\(run.output)")
    }

    @Test func argumentThatIsNothingIsAUsageError() async throws {
        let session = try await DoctorSession()
        defer { session.stop() }
        let run = try await session.shell(#""$BIN/openurl" doctor 'no scheme'"#)
        #expect(run.status == 64)
        #expect(run.errors == "openurl: 'no scheme' is neither a scheme, nor a URL, nor an identifier\n")
    }
}
