import DBus
import OpenURLBus
import Testing

/// The tokens of handles, the names of requests, and the paths that they make.
@Suite struct RequestNameTests {
    @Test(arguments: ["a", "Z9_", "0", "_", String(repeating: "x", count: 64)])
    func tokens(text: String) throws {
        #expect(HandleToken(rawValue: text)?.rawValue == text)
    }

    @Test(arguments: ["", "a-b", "a/b", "a.b", "ä", "a b", "a\u{0}", "[", "@", String(repeating: "x", count: 65)])
    func notTokens(text: String) {
        #expect(HandleToken(rawValue: text) == nil)
    }

    @Test(arguments: ["a", "login-7", "A.b_c", "b" + String(repeating: "1", count: 63)])
    func names(text: String) {
        #expect(RequestID(rawValue: text)?.rawValue == text)
    }

    /// The queue's names are numbers, and those of the router begin with a number.
    @Test(arguments: ["", "1", "12-9f", "-a", "_a", "a b", "a/b", "ä", "b" + String(repeating: "1", count: 64)])
    func notNames(text: String) {
        #expect(RequestID(rawValue: text) == nil)
    }

    @Test func pathHasTheCallerAndTheToken() throws {
        let token = try #require(HandleToken(rawValue: "t_1"))
        #expect(RequestInterface.path(of: ":1.42", token) == "/org/openurl/Router1/request/1_42/t_1")
        #expect(RequestInterface.path(of: ":1.4-2", token) == "/org/openurl/Router1/request/1_4_2/t_1")
        #expect(RequestInterface.path(of: "org.example.App", token) == nil)
    }

    @Test(arguments: [
        ("handle-token", "a-b", "a handle's token has 1 to 64 letters, digits and underscores"),
        (
            "request-id", "17",
            "a request's name must begin with a letter, and may have at most 64 letters, digits, dots, hyphens and underscores"
        ),
    ])
    func optionsRefuseOtherTexts(key: String, text: String, reason: String) throws {
        #expect(try problem([key: .string(text)], as: OpenOptions.self) == reason)
    }
}
