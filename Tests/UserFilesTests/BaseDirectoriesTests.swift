import Testing
import UserFiles

@Suite struct BaseDirectoriesTests {
    @Test func defaultsOfTheSpecification() {
        let directories = BaseDirectories(environment: ["HOME": "/h", "XDG_DATA_DIRS": "", "XDG_CACHE_HOME": ""])
        #expect(directories.cacheHome == "/h/.cache")
        #expect(directories.configurationHome == "/h/.config")
        #expect(directories.configurationDirectories == ["/etc/xdg"])
        #expect(directories.dataHome == "/h/.local/share")
        #expect(directories.dataDirectories == ["/usr/local/share", "/usr/share"])
        #expect(directories.stateHome == "/h/.local/state")
    }

    @Test func variablesComeFirst() {
        let directories = BaseDirectories(environment: [
            "HOME": "/h", "XDG_CACHE_HOME": "/c", "XDG_CONFIG_HOME": "relative",
            "XDG_CONFIG_DIRS": "/a:b:/a/:/h/.config",
            "XDG_DATA_HOME": "/d//e/", "XDG_DATA_DIRS": "/d/e:/f:", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r/",
        ])
        #expect(directories.cacheHome == "/c")
        #expect(directories.configurationHome == "/h/.config")
        #expect(directories.configurationDirectories == ["/a"])
        #expect(directories.dataHome == "/d/e")
        #expect(directories.dataDirectories == ["/f"])
        #expect(directories.stateHome == "/s")
        #expect(directories.runtimeDirectory == "/r")
    }

    @Test(
        arguments: [[:], ["HOME": ""], ["HOME": "home"], ["XDG_STATE_HOME": "state"], ["XDG_RUNTIME_DIR": "run"]]
            as [[String: String]]
    )
    func environmentWithoutHomeHasNoDirectoryOfTheUser(_ environment: [String: String]) {
        let directories = BaseDirectories(environment: environment)
        #expect(directories.cacheHome == nil && directories.stateHome == nil)
        #expect(directories.configurationHome == nil && directories.dataHome == nil)
        #expect(directories.runtimeDirectory == nil)
    }

    @Test func listHoldsEachAbsoluteDirectoryOnce() {
        #expect(directories(in: "/bin:.::/bin/:/usr//bin", default: "") == ["/bin", "/usr/bin"])
        #expect(directories(in: nil, default: "/a:/b") == ["/a", "/b"])
        #expect(directories(in: "", default: "/a") == ["/a"])
    }
}
