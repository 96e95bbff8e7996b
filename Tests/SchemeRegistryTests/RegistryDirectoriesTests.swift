import Testing

@testable import SchemeRegistry

struct RegistryDirectoriesTests {
    @Test func defaultsFollowTheBaseDirectorySpecification() {
        let directories = RegistryDirectories(environment: ["HOME": "/home/ann"])
        #expect(directories.user == "/home/ann/.local/share/openurl/handlers")
        #expect(directories.system == ["/usr/local/share/openurl/handlers", "/usr/share/openurl/handlers"])
    }

    @Test func environmentOverridesTheDefaults() {
        let directories = RegistryDirectories(
            environment: ["HOME": "/home/ann", "XDG_DATA_HOME": "/data", "XDG_DATA_DIRS": "/b:/a"],
            additional: "/opt/openurl/share/openurl/handlers"
        )
        #expect(directories.user == "/data/openurl/handlers")
        #expect(
            directories.system == [
                "/b/openurl/handlers", "/a/openurl/handlers", "/opt/openurl/share/openurl/handlers",
            ]
        )
    }

    @Test func emptyVariablesCountAsUnset() {
        let directories = RegistryDirectories(environment: ["HOME": "/h", "XDG_DATA_HOME": "", "XDG_DATA_DIRS": ""])
        #expect(directories.user == "/h/.local/share/openurl/handlers")
        #expect(directories.system.count == 2)
    }

    @Test func relativePathsAreIgnored() {
        let directories = RegistryDirectories(
            environment: ["HOME": "/h", "XDG_DATA_HOME": "data", "XDG_DATA_DIRS": "a:/b:../c::~/d"],
            additional: "e"
        )
        #expect(directories.user == "/h/.local/share/openurl/handlers")
        #expect(directories.system == ["/b/openurl/handlers"])
    }

    @Test func duplicatesAreDropped() {
        let directories = RegistryDirectories(
            environment: ["HOME": "/h", "XDG_DATA_HOME": "/b/", "XDG_DATA_DIRS": "/a:/b:/a//:/c"],
            additional: "/c/openurl/handlers/"
        )
        #expect(directories.user == "/b/openurl/handlers")
        #expect(directories.system == ["/a/openurl/handlers", "/c/openurl/handlers"])
    }

    @Test(arguments: [[:], ["HOME": ""], ["HOME": "home"]] as [[String: String]])
    func missingHomeLeavesNoUserDirectory(_ environment: [String: String]) {
        #expect(RegistryDirectories(environment: environment).user == nil)
    }
}
