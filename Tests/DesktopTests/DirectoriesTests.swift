import Testing

@testable import Desktop

@Suite struct DirectoriesTests {
    @Test func defaultsFollowTheBaseDirectorySpecification() {
        let directories = DesktopDirectories(environment: ["HOME": "/h", "XDG_DATA_DIRS": "", "XDG_CONFIG_HOME": ""])
        #expect(directories.configurationHome == "/h/.config")
        #expect(directories.configurationDirectories == ["/etc/xdg"])
        #expect(directories.dataHome == "/h/.local/share")
        #expect(directories.dataDirectories == ["/usr/local/share", "/usr/share"])
        #expect(directories.userApplicationDirectory == "/h/.local/share/applications")
        #expect(directories.userServiceDirectory == "/h/.local/share/dbus-1/services")
        #expect(directories.writtenAssociationFile == "/h/.config/mimeapps.list")
    }

    @Test func relativeAndDuplicatePathsAreIgnored() {
        let directories = DesktopDirectories(environment: [
            "HOME": "/h", "XDG_CONFIG_HOME": "relative", "XDG_CONFIG_DIRS": "/a:b:/a/:/h/.config:/c",
            "XDG_DATA_HOME": "/d//e/", "XDG_DATA_DIRS": "/d/e:/f:", "PATH": "/bin:.::/bin:/usr/bin",
        ])
        #expect(directories.configurationHome == "/h/.config")
        #expect(directories.configurationDirectories == ["/a", "/c"])
        #expect(directories.applicationDirectories == ["/d/e/applications", "/f/applications"])
        #expect(directories.searchPath == ["/bin", "/usr/bin"])
    }

    @Test func missingHomeLeavesNoUserDirectories() {
        let directories = DesktopDirectories(environment: ["XDG_DATA_HOME": "x"])
        #expect(directories.configurationHome == nil && directories.dataHome == nil)
        #expect(directories.writtenAssociationFile == nil && directories.userApplicationDirectory == nil)
        #expect(directories.applicationDirectories == ["/usr/local/share/applications", "/usr/share/applications"])
        #expect(MimeAssociationsFile(in: directories) == nil)
    }

    @Test func associationFilesFollowTheirPrecedence() {
        let directories = DesktopDirectories(environment: [
            "XDG_CONFIG_HOME": "/c", "XDG_CONFIG_DIRS": "/e", "XDG_DATA_HOME": "/h", "XDG_DATA_DIRS": "/d",
            "XDG_CURRENT_DESKTOP": "ubuntu:GNOME:../x:",
        ])
        #expect(directories.currentDesktop == ["ubuntu", "gnome"])
        let files = directories.associationFiles
        #expect(
            files.map(\.path) == [
                "/c/ubuntu-mimeapps.list", "/c/gnome-mimeapps.list", "/c/mimeapps.list",
                "/e/ubuntu-mimeapps.list", "/e/gnome-mimeapps.list", "/e/mimeapps.list",
                "/h/applications/ubuntu-mimeapps.list", "/h/applications/gnome-mimeapps.list",
                "/h/applications/mimeapps.list", "/h/applications/defaults.list",
                "/d/applications/ubuntu-mimeapps.list", "/d/applications/gnome-mimeapps.list",
                "/d/applications/mimeapps.list", "/d/applications/defaults.list",
            ]
        )
        #expect(files.map(\.precedence) == [nil, nil, nil, nil, nil, nil, 0, 0, 0, 0, 1, 1, 1, 1])
        #expect(files.filter { !$0.onlyDefaults }.map(\.path).allSatisfy { $0.hasSuffix("/mimeapps.list") })
    }

    private static let locales: [([String: String], [String])] = [
        (["LANG": "de_DE.UTF-8@euro"], ["de_DE@euro", "de_DE", "de@euro", "de"]),
        (["LANG": "fr", "LC_MESSAGES": "pt_BR"], ["pt_BR", "pt"]),
        (["LANG": "fr", "LC_MESSAGES": "pt_BR", "LC_ALL": "sr@latin"], ["sr@latin", "sr"]),
        (["LANG": "en_GB.UTF-8", "LANGUAGE": "de_AT:de:fr"], ["de_AT", "de", "fr"]),
        (["LANG": "C.UTF-8", "LANGUAGE": "de"], []),
        (["LC_ALL": "POSIX", "LANG": "de"], []),
        (["LANGUAGE": "de"], []),
        ([:], []),
    ]

    @Test(arguments: locales)
    func localeDeterminesTheSuffixes(_ environment: [String: String], _ suffixes: [String]) {
        #expect(DesktopDirectories(environment: environment).languages == suffixes)
    }

    @Test(arguments: ["a.desktop", "org.gnome.Maps.desktop", "sub-x.desktop", "ä;\\.desktop"])
    func validIdentifiersAreAccepted(_ text: String) {
        #expect(DesktopFileID(rawValue: text)?.description == text)
    }

    @Test(arguments: ["", ".desktop", "a", "a.Desktop", "a/b.desktop", "a\0.desktop", "a\n.desktop", "\u{85}.desktop"])
    func invalidIdentifiersAreRefused(_ text: String) {
        #expect(DesktopFileID(rawValue: text) == nil)
    }

    @Test func identifiersHaveALimitAndSortByBytes() throws {
        let longest = String(repeating: "a", count: DesktopFileID.limit - 8) + ".desktop"
        #expect(DesktopFileID(rawValue: longest) != nil)
        #expect(DesktopFileID(rawValue: "a" + longest) == nil)
        let ids = ["B", "a", "a-b", "é"].compactMap { DesktopFileID(rawValue: "\($0).desktop") }
        #expect(ids.shuffled().sorted() == [ids[0], ids[2], ids[1], ids[3]])
    }
}
