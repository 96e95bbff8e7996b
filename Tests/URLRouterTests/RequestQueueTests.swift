import Foundation
import Glibc
import OpenURLBus
import Processes
import Reactor
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// Limits, order and deadlines of the requests for one handler.
@Suite(.timeLimit(.minutes(10))) struct RequestQueueTests {
    private let handler: BusName = "com.example.app"
    private let owner: BusName = ":1.1"

    /// Returns a document of the project.
    private static func document(_ path: String) throws -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        return try String(contentsOf: folder.appending(path: "../../\(path)"), encoding: .utf8)
    }

    @Test func limitsEqualTheDocumentation() throws {
        let limits = RouterLimits()
        let manual = try Self.document("Packaging/openurld.8").replacing("\n", with: " ")
        let section = try #require(manual.split(separator: ".Sh ").first { $0.hasPrefix("LIMITS ") })
        for text in [
            "\(limits.requests) unanswered requests*, with \(limits.requestBytes >> 20) MiB of arguments*",
            "\(limits.requestDescriptors) descriptors*", "\(limits.waitingPerHandler) may be for one handler*",
            "more than \(limits.manyRequests) of them", "at most \(limits.manyInHand) of the URLs",
            "\(limits.batchedURLs) across all calls*", "At most \(limits.hops) handlers and commands",
            "\(limits.replyWaiters) calls* may wait for a reply", "\(limits.calls) x-callback-url calls*",
            "\(limits.callbacks) callbacks*", "\(limits.callbacksPerAccount) of them by one program",
            "\(limits.fileLooks) files*", "\(limits.inboxCopies) calls* may copy files",
            ".It Questions to the user \(limits.questions), of which at most \(limits.questionsPerAccount) may",
            "up to \(limits.questionTime.components.seconds) seconds", "\(limits.shownReminders) on the screen*",
            "\(limits.temporaryHandlers) handlers*", "\(limits.commands) commands*",
            "\(limits.commandsPerApplication) of one application*", "\(limits.errorBytes) bytes of an error message",
            "\(limits.handlerPhases) of the steps", ".It Interruptions \(limits.interruptions)*",
            "not started for \(limits.quarantine.components.seconds) seconds",
            "\(limits.tasksPerHandler) open tasks", "name has at most \(limits.taskNameBytes) bytes",
            "\(limits.kindBytes) bytes for the kind, and \(limits.notificationBytes >> 10) KiB for the value",
            "\(limits.notificationKinds) kinds and \(limits.keptNotificationBytes >> 20) MiB are kept",
            ".It Lists and explanations \(limits.queries) unanswered requests*",
            "\(limits.subscribers) subscribers*, and \(limits.monitors) programs",
        ] {
            #expect(section.contains(text), "\(text)")
        }
        let keys = [
            "OULaunchTimeout": limits.launchTimeout, "OUTransitionTimeout": limits.transitionTimeout,
            "OUOpenTimeout": limits.openTimeout, "OUBackgroundTime": limits.backgroundTime,
        ]
        let guide = try Self.document("Documentation/Lifecycle.md").split(separator: "\n")
        for (key, time) in keys {
            let row = try #require(guide.first { $0.hasPrefix("| `\(key)` | ") })
            #expect(row.hasSuffix(" | \(time.components.seconds) |"), "\(row)")
        }
    }

    /// A request that wakes the handler may have to wait, although it has its turn.
    @Test func onlyTheRequestThatWasSentFirstIsNotSentAgain() {
        var queue = RequestQueue(RouterLimits())
        let requests = (0..<3).map { _ in OpenRequest.comingBack() }
        for request in requests {
            request.begin(queue.nextNumber(), usual: .seconds(20))
            queue.take(inHand: request)
        }
        #expect(queue.firstInHand === requests[0])
        queue.send(requests[1])
        queue.send(requests[0])
        #expect(queue.firstInHand === requests[1])
        #expect(queue.isBehindAnother(requests[0]))
        #expect(!queue.isBehindAnother(requests[1]))
        queue.redeliverAllButFirst()
        #expect(requests.map(\.isUnbegun) == [true, false, true])
        #expect(requests.map(\.wasBehindHang) == [true, false, true])
        // In the next process, nothing has been sent yet.
        for request in requests { queue.take(inHand: request) }
        #expect(queue.firstInHand === requests[0])
    }

    /// Calls of connections of which 91 and 92 are one program, and 93 is another.
    private func connections(_ program: RunningProcess) throws -> FakeHandlers {
        let own = UInt32(getpid())
        return try FakeHandlers(
            [handler: owner, "com.example.other": ":1.2"],
            processes: [":1.91": own, ":1.92": own, ":1.93": program.pid]
        )
    }

    private static let program = (ProcessProgram.path(pid: UInt32(getpid())) ?? "")

    @Test func pendingRequestsOfAProgramAreLimited() async throws {
        let other = try RunningProcess()
        defer { other.end() }
        try await other.waitUntilItRuns()
        let bus = try connections(other)
        var limits = RouterLimits()
        limits.requests = 4
        let router = URLRouter([try .test("com.example.app")], on: bus, limits: limits)
        let first = Task { try await router.open("app:1", from: ":1.91") }
        await bus.wait(for: .opened("app:1", at: owner))
        let second = Task { try await router.open("app:2", from: ":1.92") }
        await bus.wait(for: .opened("app:2", at: owner))
        // A connection that the router does not know yet has the account of its program, too.
        for name: BusName in [":1.91", ":1.92"] {
            let refused = await failure { () throws(OpenURLError) in try await router.open("app:3", from: name) }
            #expect(
                refused
                    == OpenURLError(
                        .limitsExceeded,
                        "2 URLs of \(Self.program) have no answer yet, and one sender gets at most half of what is left"
                    )
            )
        }

        // Another program is not affected, and an answer makes room for a new request.
        let third = Task { try await router.open("app:4", from: ":1.93") }
        await bus.wait(for: .opened("app:4", at: owner))
        bus.answer("app:1")
        bus.answer("app:4")
        _ = try await (first.value, third.value)
        let fourth = Task { try await router.open("app:5", from: ":1.92") }
        await bus.wait(for: .opened("app:5", at: owner))
        for url in ["app:2", "app:5"] { bus.answer(url) }
        for task in [second, fourth] { #expect(try await task.value.way == .active) }
        #expect(bus.opened == [])
        #expect(await router.hasAnsweredAll)
    }

    @Test func bytesOfAProgramsRequestsAreLimitedUntilTheirAnswer() async throws {
        let other = try RunningProcess()
        defer { other.end() }
        try await other.waitUntilItRuns()
        let bus = try connections(other)
        var limits = RouterLimits()
        limits.requestBytes = 100
        let router = URLRouter([try .test("com.example.app")], on: bus, limits: limits)
        let first = Task { try await router.open("app:1", OpenOptions(), caller: ":1.91", bytes: 50) }
        await bus.wait(for: .opened("app:1", at: owner))
        let refused = await failure { () throws(OpenURLError) in
            try await router.open("app:2", OpenOptions(), caller: ":1.92", bytes: 1)
        }
        #expect(refused?.code == .limitsExceeded)
        // Another program gets half of what is left.
        let second = Task { try await router.open("app:3", OpenOptions(), caller: ":1.93", bytes: 25) }
        await bus.wait(for: .opened("app:3", at: owner))
        for url in ["app:1", "app:3"] { bus.answer(url) }
        _ = try await (first.value, second.value)
        // The answers have given the room back.
        let third = Task { try await router.open("app:4", OpenOptions(), caller: ":1.92", bytes: 50) }
        await bus.wait(for: .opened("app:4", at: owner))
        bus.answer("app:4")
        _ = try await third.value
    }

    @Test func fullQueueDoesNotTellASandboxItsHandler() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let bus = try FakeHandlers(["com.example.app": owner], processes: [":1.82": sandboxed.pid])
        var limits = RouterLimits()
        limits.waitingPerHandler = 0
        let router = URLRouter([try .test("com.example.app")], on: bus, limits: limits)
        let refused = await failure { () throws(OpenURLError) in try await router.open("app:1", from: ":1.82") }
        #expect(refused == OpenURLError(.limitsExceeded, "a limit is reached; try again later, or send less"))
        let told = await failure { () throws(OpenURLError) in try await router.open("app:1") }
        #expect(told?.message == "com.example.app: 0 URLs are already waiting; try again later")
    }

    @Test func requestsOfAProgramForOneHandlerAreLimitedUntilTheirAnswer() async throws {
        let program = try RunningProcess()
        defer { program.end() }
        try await program.waitUntilItRuns()
        let bus = try connections(program)
        var limits = RouterLimits()
        limits.waitingPerHandler = 4
        let router = URLRouter([try .test("com.example.app"), try .test("com.example.other")], on: bus, limits: limits)
        let first = Task { try await router.open("app:1", from: ":1.91") }
        await bus.wait(for: .opened("app:1", at: owner))
        let second = Task { try await router.open("app:2", from: ":1.92") }
        await bus.wait(for: .opened("app:2", at: owner))
        // The handler has both in hand.
        let refused = await failure { () throws(OpenURLError) in try await router.open("app:3", from: ":1.92") }
        #expect(
            refused
                == OpenURLError(
                    .limitsExceeded,
                    "com.example.app: 2 URLs of \(Self.program) are already waiting, and one sender gets at most half of what is left"
                )
        )
        let other = Task { try await router.open("other:1", from: ":1.92") }
        await bus.wait(for: .opened("other:1", at: ":1.2"))
        let third = Task { try await router.open("app:4", from: ":1.93") }
        await bus.wait(for: .opened("app:4", at: owner))
        for url in ["app:1", "app:2", "app:4", "other:1"] { bus.answer(url) }
        _ = try await (first.value, second.value, third.value)
        #expect(try await other.value.handler == "com.example.other")
    }

    @Test func programWithManyRequestsLetsOthersPass() async throws {
        let program = try RunningProcess()
        defer { program.end() }
        try await program.waitUntilItRuns()
        let bus = try connections(program)
        var limits = RouterLimits()
        limits.manyRequests = 3
        limits.manyInHand = 2
        let router = URLRouter([try .test("com.example.app")], on: bus, limits: limits)
        var opens: [Task<OpenResult, any Error>] = []
        // The first three are not many yet.
        for number in 1...3 { opens.append(Task { try await router.open("app:\(number)", from: ":1.91") }) }
        for number in 1...3 { await bus.wait(for: .opened("app:\(number)", at: owner)) }
        for number in 4...7 {
            opens.append(Task(executorPreference: bus.loop) { try await router.open("app:\(number)", from: ":1.91") })
        }
        for number in 4...5 { await bus.wait(for: .opened("app:\(number)", at: owner)) }
        opens.append(Task { try await router.open("app:other", from: ":1.93") })
        await bus.wait(for: .opened("app:other", at: owner))
        #expect(bus.opened == [])
        for number in 1...5 { bus.answer("app:\(number)") }
        bus.answer("app:other")
        for number in 6...7 {
            await bus.wait(for: .opened("app:\(number)", at: owner))
            bus.answer("app:\(number)")
        }
        for open in opens { #expect(try await open.value.way == .active) }
    }

    @Test func waitingRequestEndsAtItsDeadlineAndLaterOnesContinue() async throws {
        let bus = try FakeHandlers([handler: owner])
        bus.hold(handler)
        let router = URLRouter([try .test("com.example.app")], on: bus)
        var options = OpenOptions()
        options.timeout = .milliseconds(20)
        let patient = Task { try await router.open("app:patient") }
        await bus.wait(for: .askedForOwner(handler))
        let error = await failure { () throws(OpenURLError) in
            try await router.open("app:hasty", options, caller: ownConnection)
        }
        #expect(
            error
                == OpenURLError(
                    .timedOut,
                    "com.example.app was not ready within 0.02 seconds; it did not get the URL"
                )
        )
        bus.release(handler)
        await bus.wait(for: .opened("app:patient", at: owner))
        bus.answer("app:patient")
        #expect(try await patient.value.way == .active)
        #expect(bus.opened == [])
    }

    @Test func handlersTimeLimitAppliesWithoutALimitOfTheCaller() async throws {
        let bus = try FakeHandlers([handler: owner])
        bus.hold(handler)
        let router = URLRouter([try .test("com.example.app") { $0.openTimeout = .milliseconds(30) }], on: bus)
        let error = await failure { () throws(OpenURLError) in try await router.open("app:x") }
        #expect(error?.code == .timedOut)
        #expect(error?.message.contains("within 0.03 seconds") == true)
        bus.release(handler)
    }

    @Test func requestKeepsItsPlaceDuringTheLookupOfItsSender() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        bus.hold(":1.91")
        let first = Task { try await router.open("app:1", from: ":1.91") }
        await bus.wait(for: .askedWhoIs(":1.91"))
        let second = Task { try await router.open("app:2", from: ":1.92") }
        await bus.wait(for: .askedForOwner(handler))
        // The handler is running, and the second request is ready.
        await router.wait { $0.state(of: handler) == .running(owner: owner, .inactive) }
        #expect(bus.opened == [])
        bus.release(":1.91")
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1")
        await bus.wait(for: .opened("app:2", at: owner))
        bus.answer("app:2")
        _ = try await (first.value, second.value)
    }

    /// Opens URLs as calls over the bus do: each in a task on the event loop, in the order of arrival.
    private func open(_ urls: [String], _ router: URLRouter, _ bus: FakeHandlers) -> Task<Void, any Error> {
        let tasks = urls.map { url in
            Task(executorPreference: bus.loop) { _ = try await router.open(url, OpenOptions(), caller: nil) }
        }
        return Task { for task in tasks { try await task.value } }
    }

    @Test(arguments: [0, 1, 10, 20])
    func requestsDuringTheLaunchAreDeliveredInOrder(arrivedBefore: Int) async throws {
        let bus = try FakeHandlers([:])
        bus.hold(handler)
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let first = Task(executorPreference: bus.loop) { try await router.open("app:first") }
        await bus.wait(for: .askedForOwner(handler))
        let urls = (0..<20).map { "app:\($0)" }
        // All requests are in the loop's queue at once, and the handler becomes ready between two of them.
        let opening = await bus.loop.run {
            let before = open(Array(urls.prefix(arrivedBefore)), router, bus)
            bus.setOwner(of: handler, to: owner)
            return [before, open(Array(urls.dropFirst(arrivedBefore)), router, bus)]
        }
        await bus.wait(for: .opened("app:19", at: owner))
        #expect(bus.opened == ["app:first"] + urls.dropLast())
        bus.release(handler)
        for url in ["app:first"] + urls { bus.answer(url) }
        for task in opening { try await task.value }
        _ = try await first.value
    }

    @Test(arguments: [
        CallError.named(HandlerInterface.ending), .fromBus(.serviceUnknown), .fromBus(.nameHasNoOwner),
        .fromBus("org.freedesktop.DBus.Error.Spawn.ExecFailed"),
    ])
    func requestsRefusedByAnEndingHandlerGoToTheNextProcessInOrder(refusal: CallError) async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let first = Task { try await router.open("app:1", from: ":1.91") }
        await bus.wait(for: .opened("app:1", at: owner))
        let second = Task { try await router.open("app:2", from: ":1.92") }
        await bus.wait(for: .opened("app:2", at: owner))
        bus.hold(handler)
        bus.answer("app:2", .failure(refusal))
        await router.wait { $0.state(of: handler) == .ending(owner: owner) }
        let third = Task { try await router.open("app:3", from: ":1.93") }
        await bus.wait(for: .askedWhoIs(":1.93"))
        bus.answer("app:1", .failure(refusal))
        await router.wait { $0.waiting(for: handler) == 3 }
        #expect(bus.opened == [])

        bus.setOwner(of: handler, to: ":1.2")
        for url in ["app:1", "app:2", "app:3"] {
            await bus.wait(for: .opened(url, at: ":1.2"))
            bus.answer(url)
        }
        for task in [first, second, third] { #expect(try await task.value.way == .active) }
    }

    @Test func freeNameIsLookedUpAgainForWaitingRequests() async throws {
        let bus = try FakeHandlers([handler: owner])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let request = Task { try await router.open("app:1") }
        await bus.wait(for: .askedForOwner(handler))
        await bus.wait(for: .opened("app:1", at: owner))
        bus.answer("app:1", .failure(.named(HandlerInterface.ending)))
        await router.wait { $0.state(of: handler) == .ending(owner: owner) }
        bus.setOwner(of: handler, to: nil)
        // The name has no owner now, so the router launches the handler, whose program is missing.
        await bus.wait(for: .askedForOwner(handler))
        await #expect {
            try await request.value
        } throws: { error in
            (error as? OpenURLError)?.code == .launchFailed && "\(error)".contains("/nonexistent/handler")
        }
        #expect(await router.state(of: handler) == .notRunning)
    }

    @Test func failedLaunchFailsWaitingRequestsButNotLaterOnes() async throws {
        let bus = try FakeHandlers([:], processes: [":1.91": UInt32(getpid()), ":1.92": UInt32(getpid())])
        bus.hold(handler)
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let first = Task { try await router.open("app:1", from: ":1.91") }
        await bus.wait(for: .askedForOwner(handler))
        bus.hold(":1.92")
        // The router is still looking up the sender of the second request when the launch fails.
        let second = Task { try await router.open("app:2", from: ":1.92") }
        await bus.wait(for: .askedWhoIs(":1.92"))
        bus.release(handler)
        let error = OpenURLError(
            .launchFailed,
            "com.example.app cannot be started: /nonexistent/handler does not exist, and its manifest "
                + "/handlers/com.example.app.plist is gone too; register it where it is now, "
                + "or run 'openurl unregister com.example.app'"
        )
        await #expect(throws: error) { try await first.value }
        bus.release(":1.92")
        await #expect(throws: error) { try await second.value }

        bus.setOwner(of: handler, to: owner)
        let third = Task { try await router.open("app:3", from: ":1.91") }
        await bus.wait(for: .opened("app:3", at: owner))
        bus.answer("app:3")
        #expect(try await third.value.reply == ["k": "v"])
    }

    @Test func newOwnerOfTheNameGetsWaitingRequests() async throws {
        let bus = try FakeHandlers([:])
        bus.hold(handler)
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let request = Task { try await router.open("app:1") }
        await bus.wait(for: .askedForOwner(handler))
        bus.setOwner(of: handler, to: ":1.7")
        await bus.wait(for: .opened("app:1", at: ":1.7"))
        bus.answer("app:1")
        #expect(try await request.value.way == .active)
        bus.release(handler)
    }
}
