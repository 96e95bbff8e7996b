import DBus
import Foundation
import OpenURLBus
import PrivateBus
import RFC1808
import TestSupport
import Testing

@testable import OpenURL

/// The wait for the URL that comes back, through the router and at a server of the program.
@Suite(.timeLimit(.minutes(10))) struct ClientCallbackTests {
    private static let signIn = "https://example.com/authorize?client_id=1&state=s"

    private func claiming(
        _ claim: @escaping @Sendable (StandInRouter.Claim) async throws -> Void,
        _ body: (StandInRouter) async throws -> Void
    ) async throws {
        var behaviour = StandInRouter.Behaviour()
        behaviour.claim = claim
        try await StandInRouter.with(behaviour, body)
    }

    // MARK: Through the router

    @Test(arguments: [
        (CallbackExpectation.scheme("myapp"), "myapp:"), (.scheme("MyApp"), "myapp:"),
        (.scheme("x-app+1.0"), "x-app+1.0:"),
        (.prefix("myapp"), "myapp:"), (.prefix("myapp:"), "myapp:"), (.prefix("myapp://auth"), "myapp://auth"),
        (.prefix("myapp://AUTH/done/"), "myapp://auth/done"),
        (.prefix("com.example.app:/done"), "com.example.app:/done"),
        (.prefix("myapp://auth:81/a?b#c"), "myapp://auth:81/a"),
    ])
    func routerGetsThePattern(_ expectation: CallbackExpectation, _ pattern: String) async throws {
        try await claiming({ try await $0.complete(0, "myapp://auth/done?code=1") }) { router in
            let callback = try await router.client.openForCallback(
                GenericURL(Self.signIn),
                expecting: expectation,
                timeout: .seconds(9)
            )
            #expect(callback.url.description == "myapp://auth/done?code=1")
            guard case .claimed(Self.signIn, pattern, let options)? = router.events.first else {
                Issue.record("\(router.events)")
                return
            }
            #expect(options.timeout == .seconds(9) && options.handleToken != nil)
        }
    }

    @Test(arguments: [
        CallbackExpectation.scheme(""), .scheme("1a"), .scheme("a b"), .scheme("a:"), .scheme("ü"), .prefix(""),
        .prefix("a b"),
        .prefix("myapp://user@auth"), .prefix("myapp://auth/../x"), .prefix("myapp://auth/a;b"), .prefix("/done"),
        .loopback(path: " "),
    ])
    func otherExpectationsAreRefused(_ expectation: CallbackExpectation) async throws {
        try await StandInRouter.with { router in
            let error = await clientError {
                try await router.client.openForCallback(GenericURL(Self.signIn), expecting: expectation)
            }
            guard case .notOpened(let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason.code == .malformedURL)
            #expect(router.events == [])
        }
    }

    @Test func callbackHasTheFactsAboutItsSource() async throws {
        var details = CallbackDetails()
        details.source.pid = 42
        details.activationToken = "token"
        try await claiming({ [details] in try await $0.complete(0, "myapp:?a=b", details) }) { router in
            let callback = try await router.client.openForCallback(GenericURL(Self.signIn), expecting: .scheme("myapp"))
            #expect(callback.source?.pid == 42 && callback.activationToken == "token")
            #expect(callback.query == ["a": "b"])
        }
    }

    @Test(arguments: [
        OpenURLError.Code.timedOut, .noHandler, .notAllowed, .alreadyClaimed, .limitsExceeded, .cancelled,
    ])
    func endWithoutACallbackIsAnError(_ code: OpenURLError.Code) async throws {
        var details = CallbackDetails()
        details.error = RemoteError(code.errorName, "why")
        for end in [CallbackEnd.failed, .closed] {
            try await claiming({ [details] in try await $0.complete(end.rawValue, "", details) }) { router in
                let error = await clientError {
                    try await router.client.openForCallback(GenericURL(Self.signIn), expecting: .scheme("myapp"))
                }
                #expect(error == .notOpened(OpenURLError(code, "why")))
            }
        }
    }

    @Test(arguments: [1, 2, 3, UInt32.max]) func endWithoutAReasonIsAnError(_ code: UInt32) async throws {
        try await claiming({ try await $0.complete(code) }) { router in
            let error = await clientError {
                try await router.client.openForCallback(GenericURL(Self.signIn), expecting: .scheme("myapp"))
            }
            guard case .unknown(let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason.hasSuffix("the router gave no reason"), "\(reason)")
        }
    }

    @Test func refusedClaimIsAnError() async throws {
        try await claiming({ _ in throw OpenURLError(.alreadyClaimed, "another program waits") }) { router in
            let error = await clientError {
                try await router.client.openForCallback(GenericURL(Self.signIn), expecting: .scheme("myapp"))
            }
            #expect(error == .notOpened(OpenURLError(.alreadyClaimed, "another program waits")))
        }
    }

    @Test func textThatIsNoURLIsAnError() async throws {
        try await claiming({ try await $0.complete(0, "my app") }) { router in
            let error = await clientError {
                try await router.client.openForCallback(GenericURL(Self.signIn), expecting: .scheme("myapp"))
            }
            guard case .notOpened(let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason.code == .malformedURL)
        }
    }

    @Test func cancelledTaskEndsTheWait() async throws {
        try await claiming({ _ in }) { router in
            let (client, url) = (router.client, try GenericURL(Self.signIn))
            let task = Task { try await client.openForCallback(url, expecting: .scheme("myapp")) }
            try await eventually(router.events.count) { $0 == 1 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            let events = try await eventually(router.events) { $0.count == 2 }
            guard case .claimed(_, _, let options) = events[0], case .closed(let path) = events[1],
                let token = options.handleToken
            else {
                Issue.record("\(events)")
                return
            }
            #expect(path.rawValue.hasSuffix("/\(token.rawValue)"))
        }
    }

    @Test func endOfTheRouterEndsTheWait() async throws {
        try await claiming({ _ in }) { router in
            let (client, url) = (router.client, try GenericURL(Self.signIn))
            let task = Task { await clientError { try await client.openForCallback(url, expecting: .scheme("myapp")) } }
            try await eventually(router.events.count) { $0 == 1 }
            await router.connection.close()
            let error = await task.value
            // The bus reports the end of the call, if it has no answer yet, or the new owner of the name.
            guard case .unknown(let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason.hasPrefix("the router exited before"), "\(reason)")
        }
    }

    /// Only the router ends a wait: another program on the bus cannot forge the callback.
    @Test func forgedCallbackIsNotTaken() async throws {
        let forge: @Sendable (StandInRouter.Claim) async throws -> Void = { claim in
            let bus = claim.router.bus
            let stranger = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
            try await stranger.emit(
                CallbackHandleInterface.completed,
                from: claim.handle,
                to: claim.sender,
                Arguments(UInt32(0), "myapp:evil", CallbackDetails())
            )
            // The answer proves that the bus has passed the signal on.
            _ = try await stranger.owner(of: RouterService.name)
            try await claim.complete(0, "myapp:good")
        }
        try await claiming(forge) { router in
            let callback = try await router.client.openForCallback(GenericURL(Self.signIn), expecting: .scheme("myapp"))
            #expect(callback.url.description == "myapp:good")
        }
    }

    @Test func severalWaitsHaveCallbacksOfTheirOwn() async throws {
        try await claiming({ try await $0.complete(0, "\($0.pattern)?a=b") }) { router in
            let (client, url) = (router.client, try GenericURL(Self.signIn))
            let found = try await withThrowingTaskGroup(of: (String, String).self) { group in
                for scheme in ["one", "two", "three"] {
                    group.addTask {
                        let callback = try await client.openForCallback(url, expecting: .scheme(scheme))
                        return (scheme, callback.url.description)
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            #expect(found == ["one": "one:?a=b", "two": "two:?a=b", "three": "three:?a=b"])
        }
    }

    // MARK: At a server

    /// Opens the address of the callback, as a browser does, and returns the answer.
    @discardableResult
    private static func browse(_ address: GenericURL) throws -> String {
        let port = try #require(address.port)
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(client >= 0)
        defer { close(client) }
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_port = port.bigEndian
        place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafeBytes(of: &place) {
            connect(client, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
        }
        try #require(status == 0)
        let query = address.query.map { "?\($0)" } ?? ""
        let request = "GET \(address.path)\(query) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
        try #require(send(client, request, request.utf8.count, 0) == request.utf8.count)
        var answer: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(client, &bytes, bytes.count, 0), count > 0 { answer += bytes[..<count] }
        return String(decoding: answer, as: UTF8.self)
    }

    /// The address in a sign-in page's URL, with a query.
    private static func redirect(_ request: StandInRouter.Request, _ query: String) throws -> GenericURL {
        let text = try #require(FormParameters(GenericURL(request.url))["redirect_uri"])
        return try GenericURL(text + query)
    }

    private func opening(
        _ url: String = signIn,
        path: String = "/callback",
        _ open: @escaping @Sendable (StandInRouter.Request) async throws -> OpenResult
    ) async throws -> Callback {
        var callback: Callback?
        try await StandInRouter.opening(open) { router in
            callback = try await router.client.openForCallback(
                GenericURL(url),
                expecting: .loopback(path: path),
                timeout: .seconds(120)
            )
        }
        return try #require(callback)
    }

    @Test(arguments: ["/callback", "/", "/a/b", "/a%20b"]) func requestToTheServerIsTheCallback(_ path: String)
        async throws
    {
        let callback = try await opening(path: path) { request in
            #expect(request.url.hasPrefix("\(Self.signIn)&redirect_uri=http%3A%2F%2F127.0.0.1%3A"), "\(request.url)")
            let answer = try Self.browse(Self.redirect(request, "?code=1&state=s"))
            #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
            return .plain
        }
        #expect(callback.query == ["code": "1", "state": "s"])
        #expect(callback.url.path == path && callback.source == nil && callback.activationToken == nil)
    }

    /// A forged callback with another state is refused and does not end the wait.
    @Test(arguments: ["?code=evil&state=other", "?code=evil", "?code=evil&state=", "?state=s&state=other&code=evil"])
    func otherStateIsRefused(_ query: String) async throws {
        let callback = try await opening { request in
            let refusal = try Self.browse(Self.redirect(request, query))
            #expect(refusal.hasPrefix("HTTP/1.1 403"), "\(refusal)")
            try Self.browse(Self.redirect(request, "?code=good&state=s"))
            return .plain
        }
        #expect(callback.query["code"] == "good")
    }

    @Test func urlWithoutAStateTakesEveryState() async throws {
        let callback = try await opening("https://example.com/authorize") { request in
            try Self.browse(Self.redirect(request, "?code=1&state=any"))
            return .plain
        }
        #expect(callback.query == ["code": "1", "state": "any"])
    }

    @Test func addressInTheURLIsReplaced() async throws {
        let callback = try await opening("\(Self.signIn)&redirect_uri=http%3A%2F%2F127.0.0.1%2Fold") { request in
            #expect(!request.url.contains("old"), "\(request.url)")
            try Self.browse(Self.redirect(request, "?state=s"))
            return .plain
        }
        #expect(callback.query == ["state": "s"])
    }

    @Test func failedOpenEndsTheWait() async throws {
        try await StandInRouter.opening({ _ in throw OpenURLError(.noHandler, "there is no browser") }) { router in
            let error = await clientError {
                try await router.client.openForCallback(GenericURL(Self.signIn), expecting: .loopback(path: "/a"))
            }
            #expect(error == .notOpened(OpenURLError(.noHandler, "there is no browser")))
        }
    }

    @Test func timeLimitEndsTheWait() async throws {
        try await StandInRouter.with { router in
            let error = await clientError {
                try await router.client.openForCallback(
                    GenericURL(Self.signIn),
                    expecting: .loopback(path: "/a"),
                    timeout: .milliseconds(1)
                )
            }
            #expect(error == .notOpened(OpenURLError(.timedOut, "no callback arrived within the time limit")))
        }
    }

    @Test func timeLimitIsAtMostADay() async throws {
        try await StandInRouter.with { router in
            let error = await clientError {
                try await router.client.openForCallback(
                    GenericURL(Self.signIn),
                    expecting: .loopback(path: "/a"),
                    timeout: CallbackOptions.maximumTimeout + .milliseconds(1)
                )
            }
            #expect(error == .refused("the time limit is longer than a day"))
            #expect(router.events == [])
        }
    }

    @Test func closedClientEndsTheWait() async throws {
        let (opened, opens) = AsyncStream<Void>.makeStream()
        let open: @Sendable (StandInRouter.Request) async throws -> OpenResult = { _ in
            opens.yield()
            return .plain
        }
        try await StandInRouter.opening(open) { router in
            let (client, url) = (router.client, try GenericURL(Self.signIn))
            let task = Task {
                await clientError { try await client.openForCallback(url, expecting: .loopback(path: "/a")) }
            }
            for await _ in opened { break }
            await client.close()
            let error = await task.value
            guard case .unknown? = error else {
                Issue.record("\(error as Any)")
                return
            }
        }
    }

    @Test func cancelledTaskEndsTheServer() async throws {
        try await StandInRouter.with { router in
            let (client, url) = (router.client, try GenericURL(Self.signIn))
            let task = Task { try await client.openForCallback(url, expecting: .loopback(path: "/a")) }
            try await eventually(router.events.count) { $0 >= 1 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct CallbackValueTests {
    @Test(
        arguments: [
            ("app:", [:]), ("app:?", [:]), ("app:?a=b", ["a": "b"]), ("app:?a=b&c=d", ["a": "b", "c": "d"]),
            ("app:#a=b", ["a": "b"]), ("app:?a=1#c=2", ["a": "1", "c": "2"]), ("app:?a=b+c%20d", ["a": "b c d"]),
            ("app:?a=%C3%BC", ["a": "ü"]), ("app:?a", ["a": ""]), ("app:?a=", ["a": ""]), ("app:?a=b=c", ["a": "b=c"]),
            ("app:?a=1&a=2", [:]), ("app:?a=1&a=1", ["a": "1"]), ("app:?a=1#a=2", [:]),
            ("app:?a=1&b=2&a=3", ["b": "2"]),
            ("app://host/path?code=xyz&state=s", ["code": "xyz", "state": "s"]),
        ] as [(String, [String: String])]
    )
    func parametersAreDecoded(_ url: String, _ query: [String: String]) throws {
        let callback = Callback(try GenericURL(url))
        #expect(callback.query == query)
        #expect(callback.url.description == url)
    }
}
