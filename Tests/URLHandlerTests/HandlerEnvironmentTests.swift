import DBus
import Glibc
import OpenURLBus
import Testing
import UserFiles

@testable import URLHandler

/// The environment of a handler's process.
@Suite(.timeLimit(.minutes(10))) struct HandlerEnvironmentTests {
    @Test func routerSaysWhoMaySendURLs() {
        let variables = ["OPENURL_LAUNCH": ":1.7", "OPENURL_REACH": "local", "XDG_STATE_HOME": "/state"]
        let environment = HandlerEnvironment(of: "com.example.app", variables)
        #expect(environment.launcher == ":1.7" && environment.reach == .local)
        #expect(environment.stateFile?.path == "/state/openurl/com.example.app.state")
    }

    /// A newer router may know more words.
    @Test(arguments: [[:], ["OPENURL_REACH": "unknown"]] as [[String: String]])
    func everyProgramMaySendURLsWithoutAWordOfTheRouter(variables: [String: String]) {
        let environment = HandlerEnvironment(of: "com.example.app", variables)
        #expect(environment.launcher == nil && environment.reach == .everyone)
        #expect(environment.directories == HandlerDirectories() && environment.stateFile == nil)
    }

    @Test func programsOfTheHandlerInheritNoneOfTheRoutersVariables() async {
        // A child process has its own environment.
        await #expect(processExitsWith: .success) {
            let names = HandlerInterface.variables + ["XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID"]
            for name in names { setenv(name, "/value", 1) }
            setenv("XDG_STATE_HOME", "/state", 1)
            let environment = HandlerEnvironment.take(of: "com.example.app")
            #expect(environment.launcher == "/value" && environment.directories.data == "/value")
            #expect(environment.stateFile?.path == "/state/openurl/com.example.app.state")
            for name in names { #expect(getenv(name) == nil, "\(name)") }
            #expect(getenv("XDG_STATE_HOME") != nil)
        }
    }
}
