import Testing

@testable import URLHandler

/// The directories that a handler learns from its environment.
@Suite struct HandlerDirectoriesTests {
    private func directories(_ environment: [String: String]) -> HandlerDirectories {
        HandlerDirectories(of: "com.example.app", environment: environment)
    }

    @Test func routerGivesTheDirectories() {
        let directories = directories([
            "OPENURL_BUNDLE": "/b/App.app", "OPENURL_DATA": "/d", "OPENURL_CACHE": "/c", "OPENURL_INBOX": "/i",
            "HOME": "/home/u",
        ])
        #expect(directories.bundle == "/b/App.app" && directories.data == "/d")
        #expect(directories.cache == "/c" && directories.inbox == "/i")
    }

    @Test func processOfAnotherStarterUsesTheBaseDirectories() {
        let home = directories(["HOME": "/home/u", "XDG_CACHE_HOME": "/cache"])
        #expect(home.bundle == nil)
        #expect(home.data == "/home/u/.local/share/com.example.app")
        #expect(home.cache == "/cache/com.example.app")
        #expect(home.inbox == "/home/u/.local/share/com.example.app/Inbox")
        #expect(directories([:]) == HandlerDirectories())
    }
}
