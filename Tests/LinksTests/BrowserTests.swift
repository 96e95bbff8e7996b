import Desktop
import SchemeRegistry
import TestSupport
import Testing
import UserFiles

@testable import Links

/// The profiles and containers that browsers keep in their files.
@Suite struct BrowserTests {
    private func browser(_ id: String, _ exec: String, home: String) throws -> Browser? {
        let directory = try TemporaryDirectory()
        let file = try directory.write("[Desktop Entry]\nType=Application\nName=x\nExec=\(exec)\n", to: "\(id).desktop")
        let place = DesktopFile.Location(id: try #require(DesktopFileID(name: id)), file: file, precedence: 0)
        let read = withExtendedLifetime(directory) { DesktopFile(reading: place, languages: []) }
        guard case .application(let entry) = read.content else {
            Issue.record("\(exec)")
            return nil
        }
        return Browser(entry, environment: ["HOME": home])
    }

    @Test func browsersAreRecognised() throws {
        let firefox = try #require(try browser("firefox-esr", "/usr/lib/firefox-esr/firefox-esr %u", home: "/h"))
        #expect(firefox.family == .firefox)
        #expect(firefox.directories == ["/h/.mozilla/firefox", "/h/.config/mozilla/firefox"])
        let flatpak = try #require(
            try browser(
                "org.mozilla.firefox",
                "/usr/bin/flatpak run --command=firefox --file-forwarding org.mozilla.firefox @@u %u @@",
                home: "/h"
            )
        )
        #expect(flatpak.directories.first == "/h/.var/app/org.mozilla.firefox/.mozilla/firefox")
        let snap = try #require(try browser("firefox_firefox", "env A=b /snap/bin/firefox %u", home: "/h"))
        #expect(snap.directories.first == "/h/snap/firefox/common/.mozilla/firefox")
        let brave = try #require(try browser("brave", "/usr/bin/brave-browser-stable %U", home: "/h"))
        #expect(brave.family == .chromium)
        #expect(brave.directories == ["/h/.config/BraveSoftware/Brave-Browser"])
        let chrome = try #require(
            try browser("com.google.Chrome", "/usr/bin/flatpak run com.google.Chrome @@u %U @@", home: "/h")
        )
        #expect(chrome.directories == ["/h/.var/app/com.google.Chrome/config/google-chrome"])
        #expect(try browser("editor", "/usr/bin/editor %u", home: "/h") == nil)
    }

    @Test(arguments: [
        ("firefox", "firefox"), ("firefox", "org.mozilla.firefox"), ("firefox", "firefox_firefox"),
        ("Firefox", "firefox-esr"), ("firefox.desktop", "firefox-esr"), ("firefox", nil as String?),
        ("org.telegram.desktop", "org.telegram.desktop"),
    ]) func browserHasTheSameNameInEachPackage(_ name: String, _ id: String?) throws {
        let directory = try TemporaryDirectory()
        let entry = "[Desktop Entry]\nType=Application\nName=x\nExec=/bin/true %u\nMimeType=x-scheme-handler/https;\n"
        for id in [id, "firefoxer", "my-firefox"].compactMap(\.self) {
            try directory.write(entry, to: "applications/\(id).desktop")
        }
        let applications = DesktopApplications(loading: DesktopDirectories(dataDirectory: directory.path))
        #expect(applications.application(calledInRule: name)?.id.name == id)
    }

    @Test func firefoxProfilesAndContainersAreRead() throws {
        let home = try TemporaryDirectory()
        let place = ".mozilla/firefox"
        try home.write(
            """
            [Install4F96D1932A9F858E]
            Default=a.default

            [Profile1]
            Name=work
            IsRelative=1
            Path=b.work

            [Profile0]
            Name=default
            IsRelative=1
            Path=a.default
            Default=1

            [Profile2]
            Name=-P
            Path=c

            [Profile3]
            Path=d
            """,
            to: "\(place)/profiles.ini"
        )
        try home.write(
            #"""
            {"version": 5, "identities": [
             {"userContextId": 1, "public": true, "l10nId": "user-context-personal"},
             {"userContextId": 2, "public": true, "name": "Acme"},
             {"userContextId": 3, "public": false, "name": "userContextIdInternal.thumbnail"}]}
            """#,
            to: "\(place)/b.work/containers.json"
        )
        try home.write("", to: "\(place)/b.work/extensions/{f069aec0-43c5-4bbf-b6b4-df95c4326b98}.xpi")
        let browser = try #require(try browser("firefox", "firefox %u", home: home.path))
        let (profiles, problems) = browser.profiles()
        #expect(profiles.map(\.name) == ["default", "work"])
        #expect(profiles.map(\.isUsual) == [true, false])
        #expect(profiles[1].containers == ["Personal", "Acme"])
        #expect(profiles.map(\.opensContainers) == [false, true])
        #expect(problems.map(\.key) == ["[Profile2]", "[Profile3]"])
        #expect(profiles.named("WORK")?.id == "work")
        #expect(browser.arguments(for: profiles[1]) == ["-P", "work"])
    }

    @Test func chromiumProfilesAreRead() throws {
        let home = try TemporaryDirectory()
        try home.write(
            #"""
            {"profile": {"info_cache": {"Profile 1": {"name": "Work", "x": [1]}, "Default": {"name": "Person 1"},
             "../evil": {"name": "Evil"}, "--x": {"name": "a\nb"}}, "last_used": "Default"}, "other": {"a": null}}
            """#,
            to: ".config/chromium/Local State"
        )
        let browser = try #require(try browser("chromium", "/usr/bin/chromium %U", home: home.path))
        let profiles = browser.profiles().profiles
        #expect(profiles.map(\.id) == ["--x", "Default", "Profile 1"])
        #expect(profiles.map(\.name) == ["--x", "Person 1", "Work"])
        let work = try #require(profiles.named("Work"))
        #expect(browser.arguments(for: work) == ["--profile-directory=Profile 1"])
    }

    @Test(arguments: [
        "", "{", "[]", "{\"profile\": 1}", "{\"profile\": {\"info_cache\": {\"a\": []}}}",
        "{\"profile\": {\"info_cache\": {\"" + String(repeating: #"\u0301"#, count: 1000) + "\": {}}}}",
        String(repeating: "[", count: 100_000),
    ]) func hostileFilesHaveNoProfiles(_ text: String) {
        #expect(ChromiumProfiles.profiles(in: Array(text.utf8)) == nil)
        #expect(FirefoxProfiles.containers(in: Array(text.utf8)) == [])
        #expect(FirefoxProfiles.profiles(in: Array(text.utf8), file: "x").profiles.isEmpty)
    }

    @Test func optionsComeBeforeTheURL() throws {
        for (exec, expected) in [
            ("firefox %u", ["firefox", "-P", "w", "U"]), ("firefox", ["firefox", "-P", "w", "U"]),
            ("firefox -- %U", ["firefox", "-P", "w", "--", "U"]),
            ("flatpak run f @@u %u @@", ["flatpak", "run", "f", "-P", "w", "@@u", "U", "@@"]),
        ] {
            let command = try ExecCommand(parsing: exec).adding(["-P", "w"])
            #expect(command.arguments(opening: ["U"], name: "", icon: nil, file: "") == [expected])
        }
    }
}
