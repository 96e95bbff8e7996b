package import Desktop
package import UserFiles

/// A browser with profiles, as its desktop entry shows it, and the places where it keeps them.
package struct Browser: Sendable, Hashable {
    /// A family of browsers that keep their profiles in the same way.
    package enum Family: String, Sendable, Hashable {
        case firefox
        case chromium
    }

    package let family: Family
    /// The directories in which the browser may keep its profiles. Only one of them usually exists.
    package let directories: [String]

    /// Recognises the browser that a desktop entry starts; nil for any other program.
    ///
    /// - Parameter environment: the environment with the user's directories.
    package init?(_ entry: DesktopEntry, environment: [String: String]) {
        guard let words = entry.command?.words, let home = environment["HOME"], isAbsolute(home) else { return nil }
        let configuration = BaseDirectories(environment: environment).configurationHome ?? "\(home)/.config"
        let names = Set(words.compactMap { $0.split(separator: "/").last.map(String.init) })
        for kind in Kind.all {
            if names.contains(kind.flatpak) || entry.id.name == kind.flatpak {
                family = kind.family
                directories = kind.folders.map { "\(home)/.var/app/\(kind.flatpak)/\($0.inFlatpak)" }
                return
            }
            guard !names.isDisjoint(with: kind.programs) else { continue }
            family = kind.family
            if let snap = words.first(where: { $0.hasPrefix("/snap/bin/") })?.split(separator: "/").last {
                directories = kind.folders.flatMap {
                    ["\(home)/snap/\(snap)/common/\($0.inSnap)", "\(home)/snap/\(snap)/current/\($0.inHome)"]
                }
            } else {
                directories = kind.folders.map { $0.path(home, configuration) }
            }
            return
        }
        return nil
    }

    /// The paths of the files that list the profiles.
    package var files: [String] {
        directories.map { "\($0)/\(family == .firefox ? FirefoxProfiles.name : ChromiumProfiles.name)" }
    }

    /// Reads the profiles. Blocks while it reads. A missing file contributes nothing.
    package func profiles() -> (profiles: [BrowserProfile], diagnostics: [Diagnostic]) {
        var profiles: [BrowserProfile] = []
        var diagnostics: [Diagnostic] = []
        for directory in directories {
            do throws(FileError) {
                let (found, problems) =
                    switch family {
                    case .firefox: try FirefoxProfiles.read(directory)
                    case .chromium: try ChromiumProfiles.read(directory)
                    }
                profiles += found
                diagnostics += problems
            } catch {
                if error.isAbsence { continue }
                diagnostics.append(Diagnostic(severity: .warning, file: directory, reason: error.reason))
            }
        }
        return (profiles, diagnostics)
    }

    /// Returns the arguments with which the browser uses a profile.
    package func arguments(for profile: BrowserProfile) -> [String] {
        switch family {
        case .firefox: ["-P", profile.id]
        case .chromium: ["--profile-directory=\(profile.id)"]
        }
    }
}

/// A browser's profile.
package struct BrowserProfile: Sendable, Hashable {
    /// The text by which the browser knows the profile: a name in Firefox, a directory's name in Chromium.
    package let id: String
    /// The name that people see.
    package let name: String
    /// Whether the browser uses the profile if it is not told another one.
    package let isUsual: Bool
    /// The names of the profile's containers; only Firefox has them.
    package var containers: [String] = []
    /// Whether the profile has the add-on that opens a link in a container.
    package var opensContainers = false
}

extension [BrowserProfile] {
    /// Returns the profile with a name or an identifier. If there is none, case does not matter.
    package func named(_ name: String) -> BrowserProfile? {
        first { $0.name == name } ?? first { $0.id == name }
            ?? first { [$0.name, $0.id].contains { asciiLowercased($0) == asciiLowercased(name) } }
    }
}

/// A browser that is known by the names of its programs.
private struct Kind {
    /// A directory with profiles.
    struct Folder {
        let name: String
        /// Whether the directory is below the user's configuration, not directly in the home directory.
        let isConfiguration: Bool

        var inHome: String { isConfiguration ? ".config/\(name)" : name }
        var inFlatpak: String { isConfiguration ? "config/\(name)" : name }
        var inSnap: String { name }

        func path(_ home: String, _ configuration: String) -> String {
            isConfiguration ? "\(configuration)/\(name)" : "\(home)/\(name)"
        }
    }

    let family: Browser.Family
    let programs: Set<String>
    let flatpak: String
    let folders: [Folder]

    private static func firefox(_ programs: Set<String>, _ flatpak: String, _ folders: Folder...) -> Kind {
        Kind(family: .firefox, programs: programs, flatpak: flatpak, folders: folders)
    }

    private static func chromium(_ programs: Set<String>, _ flatpak: String, _ folder: String) -> Kind {
        let folder = Folder(name: folder, isConfiguration: true)
        return Kind(family: .chromium, programs: programs, flatpak: flatpak, folders: [folder])
    }

    private static func home(_ name: String) -> Folder { Folder(name: name, isConfiguration: false) }

    static let all = [
        firefox(
            ["firefox", "firefox-esr", "firefox-bin", "firefox-beta", "firefox-devedition", "firefox-nightly"],
            "org.mozilla.firefox",
            home(".mozilla/firefox"),
            // Since version 147.
            Folder(name: "mozilla/firefox", isConfiguration: true)
        ),
        firefox(["librewolf"], "io.gitlab.librewolf-community", home(".librewolf")),
        firefox(["waterfox"], "net.waterfox.waterfox", home(".waterfox")),
        firefox(["floorp"], "one.ablaze.floorp", home(".floorp")),
        firefox(["zen", "zen-browser"], "app.zen_browser.zen", home(".zen")),
        chromium(["chromium", "chromium-browser"], "org.chromium.Chromium", "chromium"),
        chromium(["google-chrome", "google-chrome-stable"], "com.google.Chrome", "google-chrome"),
        chromium(
            ["brave", "brave-browser", "brave-browser-stable"],
            "com.brave.Browser",
            "BraveSoftware/Brave-Browser"
        ),
        chromium(["vivaldi", "vivaldi-stable"], "com.vivaldi.Vivaldi", "vivaldi"),
        chromium(["microsoft-edge", "microsoft-edge-stable"], "com.microsoft.Edge", "microsoft-edge"),
    ]
}
