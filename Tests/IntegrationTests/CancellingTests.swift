import DBus
import Foundation
import OpenURL
import OpenURLBus
import PrivateBus
import RFC1808
import Synchronization
import TestSupport
import Testing

/// Cancelling a request at each moment of its way, with real processes.
@Suite(.timeLimit(.minutes(10))) struct CancellingTests {
    private static let id = "com.example.app"
    private static let url = "app:first"

    /// The moments of a cold open at which the caller cancels.
    enum Moment: String, CaseIterable, CustomTestStringConvertible {
        case beforeTheLookUp
        case whileThePersonIsAsked
        case whileTheProcessStarts
        case whileTheNameIsMissing
        case inTheRoutersLine
        case inTheHandlersLine
        case duringTheLaunch
        case whileTheHandlerWorks
        case whileTheHandlerAnswers
        case afterTheAnswer
        case twice
        case byAnotherProgram

        var testDescription: String { rawValue }

        /// The arguments of the handler.
        var behaviour: [String] {
            switch self {
            case .beforeTheLookUp, .whileThePersonIsAsked, .afterTheAnswer: []
            case .whileTheProcessStarts, .whileTheNameIsMissing, .inTheRoutersLine: ["gate"]
            case .duringTheLaunch: ["gate=didFinishLaunching"]
            case .inTheHandlersLine, .whileTheHandlerWorks, .twice: ["patient=app:first"]
            case .whileTheHandlerAnswers, .byAnotherProgram: ["gate=open"]
            }
        }

        /// The events of the handler before the cancel.
        var event: String? {
            switch self {
            case .beforeTheLookUp, .whileThePersonIsAsked, .whileTheProcessStarts: nil
            case .whileTheNameIsMissing, .inTheRoutersLine: "start"
            case .duringTheLaunch: "didFinishLaunching"
            case .inTheHandlersLine, .whileTheHandlerWorks, .whileTheHandlerAnswers, .twice, .byAnotherProgram: "open"
            case .afterTheAnswer: nil
            }
        }

        /// Whether the URL that is cancelled is the second one.
        var isSecond: Bool { self == .inTheRoutersLine || self == .inTheHandlersLine }

        /// The cause that the caller gets; nil for a success.
        var cause: OpenURLError.Code? {
            switch self {
            case .whileTheHandlerAnswers, .afterTheAnswer, .byAnotherProgram: nil
            default: .cancelled
            }
        }

        /// The URLs that the delegate gets, before the URL that follows.
        var arrivals: [String] {
            switch self {
            case .beforeTheLookUp, .whileThePersonIsAsked, .whileTheProcessStarts, .whileTheNameIsMissing,
                .duringTheLaunch:
                []
            default: [CancellingTests.url]
            }
        }
    }

    private static func options(_ token: String) -> OpenOptions {
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: token)
        return options
    }

    private func cancel(_ token: String, of connection: Connection, by other: Connection? = nil) async throws {
        let path = try #require(
            HandleToken(rawValue: token).flatMap { token in
                connection.uniqueName.flatMap { RequestInterface.path(of: $0, token) }
            }
        )
        let handle = RemoteObject(RouterService.name, path)
        try await (other ?? connection).call(RequestInterface.cancel, on: handle, Empty())
    }

    private func router(_ moment: Moment) async throws -> RouterProcess {
        let isAsking = moment == .whileThePersonIsAsked
        return try await RouterProcess(
            wrapper: isAsking ? ["/bin/sh", "-c", "DISPLAY=:0 PATH=$HOME/programs:$PATH exec \"$0\""] : []
        ) { directory in
            try RouterProcess.write(
                Self.id,
                moment.behaviour,
                in: directory,
                extra: isAsking ? ["OUAsk": true] : [:]
            )
            guard isAsking else { return }
            let programs = directory.appending(path: "programs")
            try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
            let dialog = programs.appending(path: "zenity")
            // The first question stays open until the session ends.
            try Data("#!/bin/sh\nmkdir $HOME/asked && exec sleep 600\necho 'Always open'; exit 1\n".utf8).write(
                to: dialog
            )
            #expect(chmod(dialog.path, 0o700) == 0)
        }
    }

    private func code(_ request: Task<OpenResult, any Error>) async throws -> OpenURLError.Code? {
        do {
            _ = try await request.value
            return nil
        } catch CallError.remote(let error) {
            return try #require(OpenURLError(error), "\(error)").code
        }
    }

    @Test(arguments: Moment.allCases) func momentOfTheCancel(_ moment: Moment) async throws {
        let router = try await router(moment)
        defer { router.stop() }
        let states = try await router.subscribed(LifecycleInterface.stateChanged)
        let other = try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())

        let first = Task { try await router.open(Self.url, Self.options("t1")) }
        var second: Task<OpenResult, any Error>?
        if moment == .whileTheProcessStarts {
            try await states.wait(for: "inactive", of: Self.id)
        }
        if moment == .whileThePersonIsAsked {
            let asked = router.bus.directory.appending(path: "asked").path
            try await eventually(FileManager.default.fileExists(atPath: asked)) { $0 }
        }
        if let event = moment.event {
            try await eventually(router.log(of: Self.id)) { $0.contains { $0.hasPrefix(event) } }
        }
        if moment.isSecond {
            let task = Task { try await router.open("app:second", Self.options("t2")) }
            second = task
        }
        switch moment {
        case .afterTheAnswer:
            #expect(try await code(first) == nil)
            let error = try await refusal { try await cancel("t1", of: router.connection) }
            #expect(error.name == .unknownObject)
        case .byAnotherProgram:
            let error = try await refusal { try await cancel("t1", of: router.connection, by: other) }
            #expect(error.name == OpenURLError.Code.notAllowed.errorName)
        case .twice:
            async let again: Void = cancel("t1", of: router.connection)
            try await cancel("t1", of: router.connection)
            do {
                try await again
            } catch CallError.remote(let error) where error.name == .unknownObject {
                // The request may have its answer by then.
            }
        default:
            let token = moment.isSecond ? "t2" : "t1"
            func unknown() async throws -> RemoteError? {
                do {
                    try await cancel(token, of: router.connection)
                } catch CallError.remote(let error) where error.name == .unknownObject {
                    return error
                }
                return nil
            }
            // The call may still be on its way to the router.
            try await eventually(await unknown()) { $0 == nil }
        }
        // The cancel has reached the handler by then.
        if moment == .duringTheLaunch { #expect(try await code(first) == moment.cause) }
        // The handler goes on after the cancel, and then gets what was not cancelled.
        let hasGate = moment.behaviour.contains { $0.hasPrefix("gate") }
        let gate = hasGate ? router.openGate(of: Self.id) : nil
        defer { withExtendedLifetime(gate) {} }
        if let second {
            #expect(try await code(second) == moment.cause)
            if moment == .inTheHandlersLine { try await cancel("t1", of: router.connection) }
            #expect(try await code(first) == (moment == .inTheHandlersLine ? .cancelled : nil))
        } else {
            #expect(try await code(first) == moment.cause)
        }
        // The next URL is not held up, and no cancelled URL arrives with it.
        _ = try await router.open("app:next")
        let arrivals = try router.log(of: Self.id).filter { $0.hasPrefix("open ") }
        #expect(arrivals == (moment.arrivals + ["app:next"]).map { "open \($0)" })
    }

    private func refusal(_ body: () async throws -> Void) async throws -> RemoteError {
        do {
            try await body()
        } catch CallError.remote(let error) {
            return error
        }
        Issue.record("the call was not refused")
        return RemoteError(.failed, "")
    }

    // MARK: Handlers

    /// The handler answers when a FIFO ends, with `Open` as its only method. If it has a main loop, it says at once that
    /// it lacks the method. If it blocks in the method, it answers first.
    @Test(arguments: [("runs", OpenURLError.Code.cancelled), ("blocks", nil)])
    func pythonHandlerWithoutTheMethodIsNotHarmed(mode: String, expected: OpenURLError.Code?) async throws {
        let router = try await RouterProcess { directory in
            let log = directory.appending(path: "\(Self.id).log").path
            let fifo = directory.appending(path: "fifo").path
            #expect(mkfifo(fifo, 0o600) == 0)
            try ScriptHandler.write(Self.id, "patient_handler", [mode, log, fifo], in: directory)
        }
        defer { router.stop() }
        let fifo = open(router.bus.directory.appending(path: "fifo").path, O_RDWR | O_CLOEXEC)
        let request = Task { try await router.open(Self.url, Self.options("t1")) }
        try await eventually(router.log(of: Self.id)) { $0.contains("open app:first") }
        try await cancel("t1", of: router.connection)
        if mode == "blocks" { close(fifo) }
        #expect(try await code(request) == expected)
        if mode == "runs" { close(fifo) }
        #expect(try await router.open("app:next").way == .active)
        #expect(try router.log(of: Self.id) == ["open app:first", "open app:next"])
    }

    @Test func deadlineOfTheCallerFreesTheHandler() async throws {
        let router = try await RouterProcess([Self.id: ["patient=app:first"]])
        defer { router.stop() }
        _ = try await router.open("app:warm")
        var options = OpenOptions()
        options.timeout = .seconds(5)
        #expect(try await router.failure(Self.url, options).code == .timedOut)
        // Without the cancel, this URL would wait for ten minutes.
        #expect(try await router.open("app:next").way == .active)
        #expect(try router.log(of: Self.id).contains("cancelled app:first"))
    }

    @Test func callerThatGoesCancelsNothing() async throws {
        let router = try await RouterProcess([Self.id: ["gate"]])
        defer { router.stop() }
        let caller = try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
        let states = try await router.subscribed(LifecycleInterface.stateChanged)
        let request = Task {
            try await caller.call(
                RouterInterface.openURL,
                on: RouterService.object,
                SentURL(Self.url, Self.options("t1"))
            )
        }
        try await states.wait(for: "inactive", of: Self.id)
        await caller.close()
        _ = await request.result
        let gate = router.openGate(of: Self.id)
        defer { withExtendedLifetime(gate) {} }
        try await eventually(router.log(of: Self.id)) { $0.contains("open app:first") }
    }

    // MARK: The library

    @Test func cancelledTaskCancelsTheRequest() async throws {
        let router = try await RouterProcess([Self.id: ["patient=app:first"]])
        defer { router.stop() }
        let client = OpenURLClient(connection: router.connection)
        let url = try GenericURL(Self.url)
        let request = Task { try await client.open(url) }
        try await eventually(router.log(of: Self.id)) { $0.contains("open app:first") }
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
        try await eventually(router.log(of: Self.id)) { $0.contains("cancelled app:first") }
    }

    @Test func progressArrivesInOrderAndBeforeTheResult() async throws {
        let router = try await RouterProcess([Self.id: ["report=1000"]])
        defer { router.stop() }
        let client = OpenURLClient(connection: router.connection)
        let reports = Mutex<[ProgressReport]>([])
        let url = try GenericURL(Self.url)
        let start = ContinuousClock.now
        _ = try await client.open(url) { report in reports.withLock { $0.append(report) } }
        let time = start.duration(to: .now)
        let seen = reports.withLock(\.self)
        #expect(seen.first == ProgressReport(0, "part 0"))
        #expect(seen.last == ProgressReport(1, "part 1000"))
        #expect(seen.map(\.fraction) == seen.map(\.fraction).sorted())
        // Ten a second, however fast the handler reports, the first one at once, and the last one before the result.
        #expect(Double(seen.count) <= time / ReportPace.interval + 2)
    }
}
