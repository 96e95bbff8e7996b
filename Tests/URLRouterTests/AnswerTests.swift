import Glibc
import OpenURLBus
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// The result for the sender, for each answer of a handler.
@Suite(.timeLimit(.minutes(10))) struct AnswerTests {
    private static let handler: BusName = "com.example.app"

    private func answer(_ answer: Result<OpenAnswer, CallError>) async throws -> Result<OpenResult, OpenURLError> {
        let bus = try FakeHandlers([Self.handler: ":1.1"])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let request = Task {
            do throws(OpenURLError) {
                return Result<OpenResult, OpenURLError>.success(try await router.open("app:x"))
            } catch {
                return .failure(error)
            }
        }
        await bus.wait(for: .opened("app:x", at: ":1.1"))
        bus.answer("app:x", answer)
        return await request.value
    }

    @Test func successHasAReplyAndATrace() async throws {
        let result = try await answer(.success(.yes)).get()
        var expected = OpenResult(
            handler: "com.example.app",
            way: .active,
            reply: ["k": "v"],
            trace: [TracePhase("open", microseconds: 1)]
        )
        // The router has not started the process.
        expected.isVerified = false
        // The router makes the name.
        #expect(result.requestID != nil)
        expected.requestID = result.requestID
        #expect(result == expected)
    }

    @Test func traceHoldsAtMostSixtyFourSteps() async throws {
        let steps = (1...65).map { TracePhase("step", microseconds: $0) }
        let result = try await answer(.success(OpenAnswer(isHandled: true, reply: [:], trace: steps))).get()
        #expect(result.trace == Array(steps.dropLast()))
    }

    @Test func refusalWithoutAReasonNamesTheHandler() async throws {
        let result = try await answer(.success(OpenAnswer(isHandled: false, reply: [:], trace: [])))
        #expect(result == .failure(OpenURLError(.declined, "com.example.app declined the URL")))
    }

    @Test func replyHoldsAtMostSixteenDescriptors() async throws {
        func answer(_ count: Int) async throws -> Result<OpenResult, OpenURLError> {
            let files = (0..<count).map { _ in Value.unixFD(UnixFD(owning: dup(STDERR_FILENO))) }
            let reply: [String: Value] = ["files": .array(files, of: "h")]
            return try await self.answer(.success(OpenAnswer(isHandled: true, reply: reply, trace: [])))
        }
        #expect(try await answer(16).get().reply.values.descriptorCount == 16)
        let error = OpenURLError(.invalidReply, "com.example.app answered with more than 16 descriptors")
        #expect(try await answer(17) == .failure(error))
    }

    private static let crashed = OpenURLError(
        .handlerCrashed,
        "com.example.app ended before it answered; it may have acted on the URL"
    )
    private static let noHandler = OpenURLError(
        .launchFailed,
        "the process that owns com.example.app is not a handler: it lacks org.openurl.Handler1.Open at /com/example/app"
    )
    @Test(arguments: [
        (CallError.fromBus(.noReply), crashed),
        (
            .fromBus(.limitsExceeded),
            OpenURLError(
                .limitsExceeded,
                "the bus refused to pass the URL to com.example.app: "
                    + "org.freedesktop.DBus.Error.LimitsExceeded: told"
            )
        ),
        (
            .fromBus("org.freedesktop.DBus.Error.AccessDenied"),
            OpenURLError(
                .launchFailed,
                "the bus refused to pass the URL to com.example.app: org.freedesktop.DBus.Error.AccessDenied: told"
            )
        ),
        // A handler may use the bus's error names in its own answers.
        (.named(.noReply, "of mine"), OpenURLError(.declined, "com.example.app declined the URL: of mine")),
        (.named(.serviceUnknown, "of mine"), OpenURLError(.declined, "com.example.app declined the URL: of mine")),
        (.named(.disconnected, "of mine"), OpenURLError(.declined, "com.example.app declined the URL: of mine")),
        (.named(.unknownMethod), noHandler),
        (.named(.unknownObject), noHandler),
        (.named(.unknownInterface), noHandler),
        (
            .named("com.example.Error.Full", "the list is full"),
            OpenURLError(.declined, "com.example.app declined the URL: the list is full")
        ),
        (
            .named("com.example.Error.Full", ""),
            OpenURLError(.declined, "com.example.app declined the URL: com.example.Error.Full")
        ),
        (
            .named("com.example.Error.Full", "Traceback:\n  the list is full \n"),
            OpenURLError(.declined, "com.example.app declined the URL: Traceback:\n  the list is full")
        ),
        (
            .named("org.openurl.Error.LimitsExceeded", "the list is full\n"),
            OpenURLError(.limitsExceeded, "the list is full")
        ),
        (
            .timedOut,
            OpenURLError(
                .timedOut,
                "open of com.example.app did not return within 20 seconds; it may have acted on the URL"
            )
        ),
        (
            .unexpectedReply(.wrongType(expected: "ba{sv}a(stb)", found: "s")),
            OpenURLError(
                .invalidReply,
                "com.example.app answered with something other than 'ba{sv}a(stb)': "
                    + "expected 'ba{sv}a(stb)', found 's'"
            )
        ),
        (
            .notSent(.tooLarge(limit: 9)),
            OpenURLError(
                .limitsExceeded,
                "the URL cannot be passed to com.example.app: \(MessageEncodingError.tooLarge(limit: 9))"
            )
        ),
        (
            .cancelled,
            OpenURLError(.timedOut, "com.example.app was not ready within 20 seconds; it did not get the URL")
        ),
        (.disconnected, OpenURLError(.handlerCrashed, "the bus connection was lost before com.example.app answered")),
    ])
    func eachCallErrorHasOneOutcome(error: CallError, expected: OpenURLError) async throws {
        #expect(try await answer(.failure(error)) == .failure(expected))
    }

    @Test(arguments: OpenURLError.Code.allCases)
    func handlerMayAnswerOnlyWithItsOwnErrors(code: OpenURLError.Code) async throws {
        let own: Set<OpenURLError.Code> = [.declined, .launchVetoed, .limitsExceeded, .malformedURL, .cancelled]
        let expected: OpenURLError.Code = own.contains(code) ? code : .declined
        let result = try await answer(.failure(.named(code.errorName, "why")))
        let words = expected == .declined ? "com.example.app declined the URL: why" : "why"
        #expect(result == .failure(OpenURLError(expected, words)))
    }

    @Test func handlerThatHasAnsweredOnceStaysAHandler() async throws {
        let bus = try FakeHandlers([Self.handler: ":1.1"])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let first = Task { try await router.open("app:1") }
        await bus.wait(for: .opened("app:1", at: ":1.1"))
        bus.answer("app:1")
        _ = try await first.value
        let second = Task { try await router.open("app:2") }
        await bus.wait(for: .opened("app:2", at: ":1.1"))
        bus.answer("app:2", .failure(.named(.unknownMethod, "of mine")))
        await #expect(throws: OpenURLError(.declined, "com.example.app declined the URL: of mine")) {
            try await second.value
        }
    }

    /// A process that lacks `Activate` has nothing to show, which is no failure.
    @Test func processThatHasBeenActivatedCanStillLackOpen() async throws {
        let bus = try FakeHandlers([Self.handler: ":1.1"])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        try await router.activate(try BundleIdentifier("com.example.app"), caller: ownConnection)
        await bus.wait(for: .activated(Self.handler, at: ":1.1"))
        for _ in 1...2 {
            let request = Task { try await router.open("app:x") }
            await bus.wait(for: .opened("app:x", at: ":1.1"))
            bus.answer("app:x", .failure(.named(.unknownMethod)))
            await #expect(throws: Self.noHandler) { try await request.value }
        }
    }
}
