import Glibc
import TestSupport
import Testing
import UserFiles

@Suite struct RestorationFileTests {
    @Test func fileIsBelowTheDirectoryForState() {
        func path(_ environment: [String: String]) -> String? {
            SavedStateLocation(ofHandler: "com.acme.app", environment: environment)?.path
        }
        #expect(path(["HOME": "/h", "XDG_STATE_HOME": "/s"]) == "/s/openurl/com.acme.app.state")
        #expect(path(["HOME": "/h", "XDG_STATE_HOME": "s"]) == "/h/.local/state/openurl/com.acme.app.state")
        #expect(path([:]) == nil)
    }

    @Test func removingRemovesBothNames() throws {
        let directory = try TemporaryDirectory()
        let file = SavedStateLocation(path: "\(directory.path)/a.state")
        try file.remove()
        for path in file.paths { try replaceFile(path, with: [1], mode: 0o600) }
        #expect(try status(of: file.path, followingLinks: false).st_mode & 0o777 == 0o600)
        try file.remove()
        #expect(try names(inDirectory: directory.path) == [])
    }
}
