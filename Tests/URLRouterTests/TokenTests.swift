import OpenURLBus
import Testing

@testable import URLRouter

/// The tokens of the focus in the environment of a new process.
struct TokenTests {
    @Test func tokensBecomeVariables() {
        var options = OpenOptions()
        #expect(options.tokenVariables == [:])
        options.activationToken = "token"
        #expect(options.tokenVariables == ["XDG_ACTIVATION_TOKEN": "token"])
        options.desktopStartupID = "startup"
        #expect(options.tokenVariables == ["XDG_ACTIVATION_TOKEN": "token", "DESKTOP_STARTUP_ID": "startup"])
    }

    /// The kernel would refuse to start the process.
    @Test func hugeTokenIsLeftOut() {
        var options = OpenOptions()
        options.activationToken = String(repeating: "x", count: 200_000)
        options.desktopStartupID = "startup"
        #expect(options.tokenVariables == ["DESKTOP_STARTUP_ID": "startup"])
    }
}
