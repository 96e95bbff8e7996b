import OpenURLBus
import RFC1808
import Testing

/// The URLs that a pattern is for.
@Suite struct CallbackPatternTests {
    @Test(arguments: [
        ("myapp", "myapp://auth?code=1"), ("myapp:", "MYAPP:x"), ("myapp://", "myapp://a/b"),
        ("myapp://auth", "myapp://AUTH?code=1"), ("myapp://auth/", "myapp://auth"),
        ("myapp://auth", "myapp://auth/done#x"),
        ("myapp://auth:80/x", "myapp://auth:80/x/y"), ("com.example.app:/cb", "com.example.app:/cb?code=1"),
        ("com.example.app:/cb", "com.example.app:///cb"), ("myapp:cb", "myapp:cb?code=1"),
        ("myapp://auth/done?x=1#y", "myapp://auth/done?code=1"), ("MyApp://Auth", "myapp://auth"),
        ("myapp://auth", "myapp://auth/../x"), ("myapp://auth/done", "myapp://auth/done///"),
        ("myapp://auth/done", "myapp://auth/done/.../%2e%2E./.a"),
    ])
    func urlMatches(_ pattern: String, _ url: String) throws {
        #expect(try CallbackPattern(pattern).matches(GenericURL(url)))
    }

    @Test(arguments: [
        ("myapp", "myapps:x"), ("myapp://auth", "myapp://other"), ("myapp://auth", "myapp:/auth"),
        ("myapp://auth/done", "myapp://auth/donee"), ("myapp://auth/done", "myapp://auth"),
        ("myapp://auth/done", "myapp://auth/done/../other"), ("myapp://auth/done", "myapp://auth/done/%2E%2e/other"),
        ("myapp://auth/done", "myapp://auth/done/.%2e"), ("myapp://auth/done", "myapp://auth/done//./"),
        ("myapp://auth", "myapp://auth:81"), ("myapp://auth", "myapp://user@auth"), ("myapp:/cb", "myapp://cb"),
        ("myapp://auth/Done", "myapp://auth/done"), ("myapp://auth", "auth"),
        ("myapp:auth", "myapp:auth/../other"), ("myapp:auth", "myapp:auth/x/%2E./../other"),
    ])
    func urlDoesNotMatch(_ pattern: String, _ url: String) throws {
        #expect(try !CallbackPattern(pattern).matches(GenericURL(url)))
    }

    @Test(arguments: [
        "", "1app", "my app://x", "myapp://user@auth", "myapp://auth/../x", "/path", "myapp://a/b;c", "ä",
        "myapp:auth/../x",
    ])
    func textIsNoPattern(_ text: String) {
        let error = #expect(throws: OpenURLError.self) { try CallbackPattern(text) }
        #expect(error?.code == .malformedURL)
    }

    @Test func patternIsBounded() {
        let text = "myapp://auth/" + String(repeating: "a", count: CallbackPattern.maximumBytes)
        #expect(throws: OpenURLError.self) { try CallbackPattern(text) }
    }

    @Test func equalPatternsAreOne() throws {
        #expect(try CallbackPattern("MyApp://Auth/x/") == CallbackPattern("myapp://auth/x?y=1"))
        #expect(try CallbackPattern("myapp") == CallbackPattern("myapp:"))
        #expect(try CallbackPattern("myapp://auth") != CallbackPattern("myapp"))
    }

    @Test(arguments: [
        ("https://login.example/a?redirect_uri=myapp%3A%2F%2Fauth%2Fdone&state=1", "myapp://auth/done"),
        ("https://login.example/a?state=1&redirect_uri=com.example.app:/cb", "com.example.app:/cb"),
        ("https://login.example/a#redirect_uri=myapp%3a", "myapp:"),
    ])
    func redirectIsThePattern(_ url: String, _ pattern: String) throws {
        #expect(try CallbackPattern(redirectOf: GenericURL(url)).description == pattern)
    }

    @Test(arguments: [
        "https://login.example/a", "https://a/?redirect_uri=", "https://a/?redirect_uri=x:&redirect_uri=y:",
    ])
    func urlWithoutOneRedirectHasNoPattern(_ url: String) throws {
        let error = #expect(throws: OpenURLError.self) { try CallbackPattern(redirectOf: GenericURL(url)) }
        #expect(error?.code == .malformedURL)
    }

    @Test(arguments: [
        ("http://127.0.0.1/cb", true), ("http://[::1]:80/", true), ("HTTP://LocalHost", true),
        ("https://localhost", false),
        ("http://127.0.0.2", false), ("myapp://localhost", false),
    ])
    func addressOfThisMachineIsLoopback(_ text: String, _ isLoopback: Bool) throws {
        #expect(try CallbackPattern(text).isLoopback == isLoopback)
    }

    @Test func parametersAreThoseOfAForm() throws {
        let parameters = FormParameters(try GenericURL("x:?a=1%2B2+3&b&d=1&d=1&e=1&e=2&f=%FF#g=h"))
        #expect(parameters["a"] == "1+2 3")
        #expect(parameters["b"] == "")
        #expect(parameters["d"] == "1")
        #expect(parameters["e"] == nil)
        #expect(parameters["f"] == nil)
        #expect(parameters["g"] == "h")
        #expect(parameters["missing"] == nil)
    }

    @Test(arguments: [
        ("https://a/?x=1", "https://a/?x=1&redirect_uri=http%3A%2F%2F127.0.0.1%3A80%2Fc"),
        ("https://a/", "https://a/?redirect_uri=http%3A%2F%2F127.0.0.1%3A80%2Fc"),
        (
            "https://a/?redirect_uri=y&z=1&redirect_uri=q#f",
            "https://a/?redirect_uri=http%3A%2F%2F127.0.0.1%3A80%2Fc&z=1#f"
        ),
        (
            "https://a/?redirect%5Furi=y&z=1&redirect_uri",
            "https://a/?redirect_uri=http%3A%2F%2F127.0.0.1%3A80%2Fc&z=1"
        ),
    ])
    func parameterIsSet(_ url: String, _ result: String) throws {
        #expect("\(try GenericURL(url).setting("redirect_uri", to: "http://127.0.0.1:80/c"))" == result)
    }
}
