import Testing

/// A way in which a link does nothing.
struct Breakage: Sendable, CustomTestStringConvertible {
    /// The way in which the test mends the fault.
    enum Mend: Sendable {
        /// `openurl doctor --fix`.
        case byDoctor
        /// The command that the doctor names.
        case byCommand
    }

    let name: String
    /// Lines of shell that break a sound session.
    let damage: String
    var topic = "note"
    /// The variables of the doctor, and of its command.
    var variables: [String: String] = [:]
    var startsRouter = true
    /// The command, as shell reads it.
    var command = #""$BIN/openurl""#
    /// The check that finds the fault, and its level.
    let check: String
    let level: String
    var mend = Mend.byCommand
    /// Lines of shell that succeed if the URL arrives.
    let arrival: String
    /// The variables of the opener. `xdg-open` wants a display.
    var openerVariables = ["DISPLAY": ":0"]

    var testDescription: String { name }

    static let all = sessions + handlers + entries + openers + associations

    private static let opened = #"handled com.example.note "$BIN/openurl" note:1"#
    private static let clicked = "handled com.example.note xdg-open note:1"

    private static let sessions = [
        Breakage(
            name: "no display in the activation environment",
            damage: "register com.example.note",
            variables: ["DISPLAY": ":9"],
            check: "display",
            level: "fail",
            mend: .byDoctor,
            arrival: #""$BIN/openurl" --json note:1 | grep -q '"DISPLAY=:9"'"#,
            openerVariables: [:]
        ),
        Breakage(
            name: "no display, mended by hand",
            damage: "register com.example.note",
            variables: ["WAYLAND_DISPLAY": "wayland-9"],
            check: "display",
            level: "fail",
            arrival: #""$BIN/openurl" --json note:1 | grep -q '"WAYLAND_DISPLAY=wayland-9"'"#,
            openerVariables: [:]
        ),
        Breakage(
            name: "handlers in a directory that the session's XDG_DATA_DIRS lacks",
            damage: """
                register com.example.other
                manifest com.example.note "$BIN/testhandler"
                mkdir -p "$HOME/more/openurl/handlers"
                mv "$HOME/manifests/com.example.note.plist" "$HOME/more/openurl/handlers"
                "$BIN/openurl" unregister com.example.other
                """,
            command: #"XDG_DATA_DIRS="$XDG_DATA_DIRS:$HOME/more" "$BIN/openurl""#,
            check: "environment",
            level: "fail",
            mend: .byDoctor,
            arrival: opened
        ),
        Breakage(
            name: "prefix in which the bus does not look",
            damage: #"""
                mkdir -p "$HOME/prefix/bin" "$HOME/prefix/share/dbus-1/services"
                for name in openurl openurl-command openurld; do cp "$BIN/$name" "$HOME/prefix/bin"; done
                printf '[D-BUS Service]\nName=org.openurl.Router1\nExec=%s\n' "$HOME/prefix/bin/openurld" \
                    > "$HOME/prefix/share/dbus-1/services/org.openurl.Router1.service"
                """#,
            topic: "",
            startsRouter: false,
            command: #""$HOME/prefix/bin/openurl""#,
            check: "prefix",
            level: "fail",
            mend: .byDoctor,
            arrival: "register com.example.note; \(opened)"
        ),
        Breakage(
            name: "no router and no service file",
            damage: ":",
            topic: "",
            startsRouter: false,
            check: "router",
            level: "fail",
            arrival: "register com.example.note; \(opened)"
        ),
        Breakage(
            name: "router of another version",
            damage: #"""
                stand_in router_of_another_version
                """#,
            topic: "",
            check: "version",
            level: "warn",
            arrival: "register com.example.note; \(opened)"
        ),
    ]

    private static let handlers = [
        Breakage(
            name: "broken manifest",
            damage: #"""
                register com.example.note
                cp "$HOME/manifests/com.example.note.plist" "$HOME/good"
                echo '<plist><dict><key>CFBundleIdentifier' > "$HOME/manifests/com.example.note.plist"
                printf '#!/bin/sh\nfor file; do :; done\ncat "%s" > "$file"\n' "$HOME/good" > "$HOME/editor"
                chmod +x "$HOME/editor"
                """#,
            topic: "com.example.note",
            check: "manifest",
            level: "fail",
            // The router notices an edited manifest a moment later.
            arrival: #""$BIN/openurl" reload && \#(opened)"#
        ),
        Breakage(
            name: "manifest that was moved",
            damage: """
                register com.example.gone
                register com.example.note
                rm "$HOME/manifests/com.example.gone.plist"
                """,
            topic: "",
            check: "lost-manifest",
            level: "fail",
            mend: .byDoctor,
            arrival: clicked
        ),
        Breakage(
            name: "manifest that every user may change",
            damage: #"register com.example.note; chmod o+w "$HOME/manifests/com.example.note.plist""#,
            topic: "com.example.note",
            check: "manifest",
            level: "fail",
            // The router notices the change by itself within a second, or later on a busy machine.
            arrival: "gdbus call --session --dest org.openurl.Router1 --object-path /org/openurl/Router1 "
                + "--method org.openurl.Registry1.Reload && \(opened)"
        ),
        Breakage(
            name: "misspelt key",
            damage: #"""
                manifest com.example.note "$BIN/testhandler"
                sed -i 's|<key>OUArguments|<key>OULaunchTimout</key><real>9</real>&|' \
                    "$HOME/manifests/com.example.note.plist"
                "$BIN/openurl" register "$HOME/manifests/com.example.note.plist"
                printf '#!/bin/sh\nfor file; do :; done\nsed -i --follow-symlinks s/Timout/Timeout/ "$file"\n' > "$HOME/editor"
                chmod +x "$HOME/editor"
                """#,
            check: "manifest-key",
            level: "warn",
            arrival: opened
        ),
        Breakage(
            name: "missing program",
            damage: #"""
                register com.example.first "$HOME/gone"
                register com.example.note
                printf '#!/bin/sh\nfor file; do :; done\nrm "$file"\n' > "$HOME/editor"
                chmod +x "$HOME/editor"
                """#,
            check: "program",
            level: "fail",
            // The editor removes the file, and the router may not have noticed that yet.
            arrival: "gdbus call --session --dest org.openurl.Router1 --object-path /org/openurl/Router1 "
                + "--method org.openurl.Registry1.Reload && \(opened)"
        ),
        Breakage(
            name: "program that is not executable",
            damage:
                #"cp "$BIN/testhandler" "$HOME/copy"; register com.example.note "$HOME/copy"; chmod -x "$HOME/copy""#,
            check: "program",
            level: "fail",
            arrival: opened
        ),
        Breakage(
            name: "script without its interpreter",
            damage: #"""
                printf '#!/nowhere/sh\nexec "%s" "$@"\n' "$BIN/testhandler" > "$HOME/script"
                chmod +x "$HOME/script"
                register com.example.note "$HOME/script"
                """#,
            check: "interpreter",
            level: "fail",
            arrival: opened
        ),
        Breakage(
            name: "quarantine",
            damage: #"""
                printf '#!/bin/sh\n[ ! -e "%s" ] || exit 3\nexec "%s" "$@"\n' "$HOME/sick" "$BIN/testhandler" > "$HOME/script"
                chmod +x "$HOME/script"
                register com.example.note "$HOME/script"
                touch "$HOME/sick"
                until "$BIN/openurl" note:1 2>&1 | grep -q -- --reset; do [ $((starts += 1)) -lt 20 ] || exit 3; done
                rm "$HOME/sick"
                """#,
            check: "quarantine",
            level: "fail",
            mend: .byDoctor,
            arrival: opened
        ),
        Breakage(
            name: "another name on the bus than the identifier",
            damage: #"""
                cp "$BIN/testhandler" "$HOME/copy"
                register com.example.note "$HOME/copy"
                "$HOME/copy" com.example.typo "$HOME/typo.log" > "$HOME/typo" 2>&1 &
                echo $! > "$HOME/pid"
                timeout 60 gdbus wait --session com.example.typo
                printf '#!/bin/sh\nkill "$(cat "%s")"\n' "$HOME/pid" > "$HOME/editor"
                chmod +x "$HOME/editor"
                """#,
            check: "bus-name",
            level: "fail",
            arrival: opened
        ),
    ]

    private static let entries = [
        Breakage(
            name: "no %u",
            damage: #"program "$HOME/app"; entry app "$HOME/app" 'MimeType=x-scheme-handler/note;'"#,
            check: "no-field-code",
            level: "fail",
            arrival: "arrives gio open note:1"
        ),
        Breakage(
            name: "AppImage that is gone",
            damage: #"""
                register com.example.note
                entry app "/media/stick/App.AppImage %u" 'MimeType=x-scheme-handler/note;'
                printf '[Default Applications]\nx-scheme-handler/note=app.desktop;\n' > "$mimeapps"
                """#,
            check: "entry-program",
            level: "fail",
            arrival: clicked
        ),
        Breakage(
            name: "stale cache",
            damage: #"register com.example.note; echo '[MIME Cache]' > "$applications/mimeinfo.cache""#,
            topic: "",
            check: "stale-cache",
            level: "fail",
            mend: .byDoctor,
            arrival: clicked
        ),
        Breakage(
            name: "service file of an earlier installation",
            damage: #"""
                register com.example.note
                sed -i 's|^Exec=[^ ]*|Exec=/opt/old/openurl|' "$XDG_DATA_HOME/dbus-1/services/com.example.note.service"
                """#,
            topic: "",
            check: "stale-service",
            level: "fail",
            mend: .byDoctor,
            arrival:
                "gdbus call --session --dest com.example.note --object-path / --method org.freedesktop.DBus.Peer.Ping"
        ),
        Breakage(
            name: "default that is another application",
            damage: #"""
                register com.example.note
                program "$HOME/app"
                entry app "$HOME/app %u" 'MimeType=x-scheme-handler/note;'
                printf '[Default Applications]\nx-scheme-handler/note=app.desktop;\n' > "$mimeapps"
                """#,
            topic: "com.example.note",
            check: "other-choice",
            level: "warn",
            arrival: clicked
        ),
        Breakage(
            name: "association that was removed",
            damage: #"""
                register com.example.note
                printf '[Removed Associations]\nx-scheme-handler/note=com.example.note.desktop;\n' > "$mimeapps"
                """#,
            check: "removed-association",
            level: "fail",
            arrival: clicked
        ),
        Breakage(
            name: "two claimants",
            damage: #"""
                program "$HOME/app"
                for name in one two; do entry $name "$HOME/app %u" 'MimeType=x-scheme-handler/note;'; done
                """#,
            check: "claimants",
            level: "warn",
            arrival: "arrives xdg-open note:1"
        ),
        Breakage(
            name: "default that does not exist",
            damage: #"""
                register com.example.note
                printf '[Default Applications]\nx-scheme-handler/note=gone.desktop;\n' > "$mimeapps"
                """#,
            check: "lost-default",
            level: "warn",
            arrival: clicked
        ),
        Breakage(
            name: "application that claims http",
            damage: #"""
                program "$HOME/app"
                entry app "$HOME/app %u" 'MimeType=x-scheme-handler/note;x-scheme-handler/http;'
                entry web "$HOME/app %u" 'MimeType=x-scheme-handler/http;' 'Categories=WebBrowser;'
                """#,
            topic: "",
            check: "web",
            level: "warn",
            arrival: "gio mime x-scheme-handler/http | head -n 1 | grep web.desktop && arrives xdg-open note:1"
        ),
        Breakage(
            name: "DBusActivatable without a service file",
            damage: #"""
                program "$HOME/app"
                entry com.example.App "$HOME/app %u" 'MimeType=x-scheme-handler/note;' DBusActivatable=true
                """#,
            check: "no-service",
            level: "fail",
            arrival: "arrives gio open note:1"
        ),
        Breakage(
            name: "default without MimeType",
            damage: #"""
                program "$HOME/app"
                entry app "$HOME/app %u"
                printf '[Default Applications]\nx-scheme-handler/note=app.desktop;\n' > "$mimeapps"
                """#,
            check: "no-mime-type",
            level: "warn",
            arrival: "arrives xdg-open note:1"
        ),
        Breakage(
            name: "Exec that xdg-open cannot read",
            damage: #"""
                mkdir "$HOME/My App"
                program "$HOME/My App/app"
                entry app "\"$HOME/My App/app\" %u" 'MimeType=x-scheme-handler/note;'
                """#,
            check: "exec-quoting",
            level: "warn",
            arrival: "arrives xdg-open note:1"
        ),
        Breakage(
            name: "Exec that nothing can read",
            damage: #"""
                program "$HOME/app"
                entry app "\"$HOME/app %u" 'MimeType=x-scheme-handler/note;'
                printf '#!/bin/sh\nsed -i "s/\\"//g" "$1"\n' > "$HOME/editor"
                chmod +x "$HOME/editor"
                """#,
            check: "entry",
            level: "fail",
            arrival: "arrives xdg-open note:1"
        ),
    ]

    private static let openers = [
        Breakage(
            name: "another default in the portal",
            damage: #"""
                register com.example.note
                program "$HOME/app"
                entry app "$HOME/app %u"
                stand_in permission_store
                """#,
            check: "portal",
            level: "warn",
            arrival: opened
        ),
        Breakage(
            name: "rule that denies the URLs",
            damage: #"register com.example.note; "$BIN/openurl" policy deny note"#,
            check: "policy",
            level: "fail",
            arrival: opened
        ),
        Breakage(
            name: "URL that was abandoned",
            damage: #"""
                printf '#!/bin/sh\n[ -e "%s" ] || set -- "$@" decline=no\nexec "%s" "$@"\n' "$HOME/well" "$BIN/testhandler" \
                    > "$HOME/script"
                chmod +x "$HOME/script"
                register com.example.note "$HOME/script"
                "$BIN/openurl" open --queue note:1 > "$HOME/queued"
                id=$("$BIN/openurl" queue | cut -f 1)
                "$BIN/openurl" queue wait "$id" 2> "$HOME/refusal" || touch "$HOME/well"
                echo "$id" > "$HOME/id"
                "$BIN/openurl" terminate com.example.note
                """#,
            check: "dead-letter",
            level: "warn",
            arrival: #""$BIN/openurl" queue wait "$(cat "$HOME/id")""#
        ),
    ]

    private static let associations = [
        Breakage(
            name: "mimeapps.list that is a link",
            damage: #"""
                register com.example.note
                printf '[Default Applications]\n' > "$HOME/dotfile"
                ln -s "$HOME/dotfile" "$mimeapps"
                """#,
            check: "mimeapps-link",
            level: "warn",
            arrival: #""$BIN/openurl" default note com.example.note && \#(clicked)"#
        ),
        Breakage(
            name: "mimeapps.list that cannot be written",
            damage:
                #"register com.example.note; printf '[Default Applications]\n' > "$mimeapps"; chmod a-w "$mimeapps""#,
            check: "mimeapps-read-only",
            level: "warn",
            arrival: #""$BIN/openurl" default note com.example.note && \#(clicked)"#
        ),
        Breakage(
            name: "mimeapps.list with the same line twice",
            damage: #"""
                register com.example.note
                line=x-scheme-handler/note=com.example.note.desktop
                printf '[Default Applications]\n%s\n%s\n' $line $line > "$mimeapps"
                """#,
            check: "mimeapps-duplicate",
            level: "warn",
            arrival: clicked
        ),
        Breakage(
            name: "mimeapps.list with a foreign group",
            damage: #"""
                register com.example.note
                printf '[Defaults]\nx-scheme-handler/note=gone.desktop\n' > "$mimeapps"
                """#,
            check: "mimeapps-group",
            level: "warn",
            arrival: clicked
        ),
    ]
}
