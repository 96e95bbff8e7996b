import DBus
import OpenURLBus
import PrivateBus
import RFC1808
import TestSupport
import Testing

@testable import OpenURL

/// The errors of a client. Their cases say whether the URL may have been opened, so a wrong case makes a program open it twice
/// or not at all.
@Suite(.timeLimit(.minutes(10))) struct ClientErrorTests {
    /// An error of the router, and that of the client.
    struct Failure: Sendable, CustomTestStringConvertible {
        let remote: RemoteError
        let error: OpenURLClientError
        var testDescription: String { remote.description }
    }

    private static func remote(_ name: ErrorName, _ message: String = "m", isFromBus: Bool = false) -> RemoteError {
        RemoteError(name, message, isFromBus: isFromBus)
    }

    @Test(
        arguments: OpenURLError.Code.allCases.map {
            Failure(remote: RemoteError($0.errorName, "m"), error: .notOpened(OpenURLError($0, "m")))
        } + [
            Failure(remote: remote(.noReply), error: .unknown("the router exited before it answered")),
            Failure(remote: remote(.invalidArguments), error: .refused("m")),
            Failure(
                remote: remote("org.freedesktop.DBus.Error.ServiceUnknown", isFromBus: true),
                error: .unavailable("the router cannot be reached: m")
            ),
            Failure(
                remote: remote("org.freedesktop.DBus.Error.NameHasNoOwner", isFromBus: true),
                error: .unavailable("the router cannot be reached: m")
            ),
            Failure(
                remote: remote(.failed),
                error: .unknown("the router does not know the outcome: \(ErrorName.failed): m")
            ),
            Failure(
                remote: remote("org.example.Error.Odd"),
                error: .unknown("the router does not know the outcome: org.example.Error.Odd: m")
            ),
            Failure(
                remote: remote("org.openurl.Router1.Error.FromTheFuture"),
                error: .unknown("the router does not know the outcome: org.openurl.Router1.Error.FromTheFuture: m")
            ),
        ]
    )
    func errorOfTheRouterHasOneMeaning(_ failure: Failure) {
        #expect(OpenURLClientError(.remote(failure.remote)) == failure.error)
        #expect(OpenURLClientError(failure: CallError.remote(failure.remote)) == failure.error)
    }

    @Test(arguments: [
        (
            CallError.disconnected,
            OpenURLClientError.unknown("the connection to the session bus was lost before the router answered")
        ),
        (.cancelled, .unknown("cancelled before the router answered")),
        (.timedOut, .unknown("the router did not answer in time")),
    ])
    func endOfACallLeavesTheOutcomeOpen(_ error: CallError, _ expected: OpenURLClientError) {
        #expect(OpenURLClientError(error) == expected)
    }

    @Test func otherErrorsKeepTheirMeaning() {
        struct Odd: Error, CustomStringConvertible { var description: String { "odd" } }
        let refusal = OpenURLClientError.refused("r")
        #expect(OpenURLClientError(failure: refusal) == refusal)
        #expect(OpenURLClientError(failure: OpenURLError(.declined, "d")) == .notOpened(OpenURLError(.declined, "d")))
        #expect(
            OpenURLClientError(failure: ConnectionError.timedOut)
                == .unavailable("there is no session bus: no answer came in time")
        )
        #expect(OpenURLClientError(failure: Odd()) == .unknown("odd"))
    }

    @Test(arguments: [
        (OpenURLClientError.notOpened(OpenURLError(.declined, "a")), "a"), (.unavailable("b"), "b"),
        (.unknown("c"), "c"),
        (.refused("d"), "d"),
    ])
    func descriptionIsTheReason(_ error: OpenURLClientError, _ text: String) {
        #expect(error.description == text)
    }

    /// Every code of the router comes through the bus.
    @Test(arguments: OpenURLError.Code.allCases) func codeReachesTheCaller(_ code: OpenURLError.Code) async throws {
        let expected = OpenURLClientError.notOpened(OpenURLError(code, "the reason"))
        try await StandInRouter.opening({ _ in throw OpenURLError(code, "the reason") }) { router in
            let (client, url) = (router.client, try GenericURL("app:x"))
            #expect(await clientError { try await client.open(url) } == expected)
            #expect(await clientError { try await client.open("app:x") } == expected)
            #expect(await clientError { try await client.call(url) } == expected)
            #expect(await clientError { try await client.open(url) { _ in } } == expected)
        }
    }

    @Test func wrongArgumentsAreRefused() async throws {
        try await StandInRouter.opening({ _ in throw RemoteError(.invalidArguments, "the token is in use") }) {
            router in
            #expect(await clientError { try await router.client.open("app:x") } == .refused("the token is in use"))
        }
    }

    /// The URL was opened, and the program cannot know it.
    @Test func answerThatCannotBeReadLeavesTheOutcomeOpen() async throws {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let router = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        let other = Method<Arguments<String, OpenOptions>, UInt32>(RouterInterface.name, "OpenURL")
        await router.export(
            [ExportedInterface(RouterInterface.name, [.method(other) { _, _ in 7 }])],
            at: RouterService.path
        )
        _ = try await router.requestName(RouterService.name)
        let connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        let client = OpenURLClient(ways: WaysToRouter(only: WayToRouter(bus: connection, isLocal: false)))
        let error = await clientError { try await client.open("app:x") }
        guard case .unknown(let reason)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(reason.hasPrefix("the router's answer cannot be read: "), "\(reason)")
    }

    /// Nothing was sent, so nothing was opened.
    @Test func valueThatCannotBeSentIsRefused() async throws {
        try await StandInRouter.with { router in
            var options = OpenOptions()
            options.annotation = "a\u{0}b"
            let error = await clientError { try await router.client.open("app:x", options: options) }
            guard case .refused? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(router.events == [])
        }
    }
}
