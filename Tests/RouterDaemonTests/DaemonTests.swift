import Glibc
import Logging
import OpenURLBus
import Synchronization
import Testing

@testable import RouterDaemon

/// The order of the daemon's start and end.
@Suite(.timeLimit(.minutes(10))) struct DaemonTests {
    private static let start = [
        "loadRegistry", "connect", "makeRouter", "watchSignals", "export", "takeName", "followRegistry", "adoptRunning",
        "startDeliveries", "watchMemory", "waitUntilClosed",
    ]
    private static let end = [
        "announceEnd", "stopDeliveries", "releaseName", "waitUntilAnswered", "close", "abandonDeliveries",
    ]

    /// Serves with recorded parts.
    private func serve(
        _ assembly: RecordedAssembly,
        answerTime: Duration = .seconds(600),
        closingTime: Duration = .seconds(600)
    ) async -> (status: CInt, log: [RecordedLog.Entry], forcedEnds: [CInt]) {
        let log = RecordedLog()
        let forcedEnds = ForcedEnds()
        let daemon = Daemon(
            assembly,
            log: log.logger,
            answerTime: answerTime,
            closingTime: closingTime,
            end: {
                forcedEnds.statuses.append($0)
                // The end of the process would end the connection, and whatever hangs.
                assembly.endBus()
                assembly.release()
            }
        )
        let status = await daemon.serve()
        return (status, log.entries, forcedEnds.statuses)
    }

    @Test func startsInOrderAndFailsWhenTheBusEnds() async {
        let assembly = RecordedAssembly(actions: ["waitUntilClosed": { $0.endBus() }])
        let (status, log, forcedEnds) = await serve(assembly)
        #expect(assembly.steps == Self.start + ["abandonDeliveries"])
        #expect(status == EXIT_FAILURE)
        #expect(
            log == [
                RecordedLog.Entry(level: .info, text: "ready", metadata: ["handlers": "3"]),
                RecordedLog.Entry(level: .notice, text: "the connection to the bus was lost, so the router exits"),
            ]
        )
        #expect(forcedEnds == [])
    }

    @Test(arguments: ["loadRegistry", "connect", "makeRouter", "watchSignals", "takeName"])
    func aStepThatFailsEndsTheStart(step: String) async throws {
        let assembly = RecordedAssembly(failing: step)
        let (status, log, _) = await serve(assembly)
        let index = try #require(Self.start.firstIndex(of: step))
        #expect(assembly.steps == Array(Self.start[...index]))
        #expect(status == EXIT_FAILURE)
        #expect(log.map(\.level) == [.error])
        let reason = "\(RecordedAssembly.StepError())"
        let advice = "there is no session bus to serve: \(reason); set DBUS_SESSION_BUS_ADDRESS to its address"
        #expect(log.map(\.text) == [step == "connect" ? advice : reason])
    }

    @Test func theOwnerOfTheNameIsNotDisturbed() async throws {
        let assembly = RecordedAssembly(ownsName: false)
        let (status, log, _) = await serve(assembly)
        let index = try #require(Self.start.firstIndex(of: "takeName"))
        #expect(assembly.steps == Array(Self.start[...index]))
        #expect(status == EXIT_FAILURE)
        #expect(log.map(\.text) == ["another process already owns org.openurl.Router1 on the bus"])
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func aSignalEndsTheDaemonInOrder(signal: CInt) async {
        let assembly = RecordedAssembly(actions: ["waitUntilClosed": { $0.signal(signal) }])
        let (status, log, forcedEnds) = await serve(assembly)
        #expect(assembly.steps == Self.start + Self.end)
        #expect(status == EXIT_SUCCESS)
        #expect(log.map(\.text) == ["ready", "exiting after the last answer; a second signal exits at once"])
        #expect(forcedEnds == [])
    }

    @Test func aSecondSignalEndsTheProcessAtOnce() async {
        let assembly = RecordedAssembly(
            actions: ["waitUntilClosed": { $0.signal(SIGINT) }, "waitUntilAnswered": { $0.signal(SIGTERM) }]
        )
        let (_, _, forcedEnds) = await serve(assembly)
        #expect(forcedEnds == [128 + SIGTERM])
        #expect(assembly.steps.filter { $0 == "stopDeliveries" }.count == 1)
    }

    /// A program that calls again and again could otherwise keep the router from exiting.
    @Test func requestsThatTakeTooLongGetNoAnswer() async {
        let assembly = RecordedAssembly(answers: false, actions: ["waitUntilClosed": { $0.signal(SIGTERM) }])
        let (status, log, forcedEnds) = await serve(assembly, answerTime: .zero)
        #expect(assembly.steps == Self.start + Self.end)
        #expect(status == EXIT_SUCCESS)
        #expect(log.last?.text == "some requests have taken too long, and get no answer")
        #expect(forcedEnds == [])
    }

    /// Such as a delivery whose handler may take longer, or a queue on a disk that is not responding.
    @Test func deliveriesThatTakeTooLongAreLeftToTheNextRouter() async {
        let assembly = RecordedAssembly(
            hanging: "stopDeliveries",
            actions: ["waitUntilClosed": { $0.signal(SIGTERM) }]
        )
        let (status, log, forcedEnds) = await serve(assembly, answerTime: .zero)
        assembly.release()
        // The deliveries are given up before the next router can own the name.
        var end = Self.end
        end.insert("abandonDeliveries", at: 2)
        #expect(assembly.steps == Self.start + end)
        #expect(status == EXIT_SUCCESS)
        #expect(log.contains { $0.text == "some deliveries have taken too long; the next router tries them again" })
        #expect(forcedEnds == [])
    }

    @Test(arguments: ["close", "abandonDeliveries"]) func processEndsEvenIfAStepHangs(step: String) async {
        let assembly = RecordedAssembly(hanging: step, actions: ["waitUntilClosed": { $0.signal(SIGTERM) }])
        let (_, log, forcedEnds) = await serve(assembly, answerTime: .zero, closingTime: .milliseconds(50))
        #expect(forcedEnds == [EXIT_FAILURE])
        #expect(log.contains { $0.text == "the router did not finish in time, so it exits now" })
    }

    @Test func processEndsEvenIfTheQueueHangsAfterTheBusIsGone() async {
        let assembly = RecordedAssembly(hanging: "abandonDeliveries", actions: ["waitUntilClosed": { $0.endBus() }])
        let (_, _, forcedEnds) = await serve(assembly, closingTime: .milliseconds(50))
        #expect(forcedEnds == [EXIT_FAILURE])
    }

    @Test(arguments: [
        ("announceEnd", "cannot notify the service manager that the router is stopping: "),
        ("releaseName", "cannot release the name org.openurl.Router1: "),
    ])
    func endsInOrderAlsoWhenAStepFails(step: String, message: String) async {
        let assembly = RecordedAssembly(failing: step, actions: ["waitUntilClosed": { $0.signal(SIGTERM) }])
        let (status, log, _) = await serve(assembly)
        #expect(assembly.steps == Self.start + Self.end)
        #expect(status == EXIT_SUCCESS)
        #expect(log.last?.level == .error)
        #expect(log.last?.text.hasPrefix(message) == true)
    }
}

/// The exit statuses with which the daemon asked for the end of the process.
private final class ForcedEnds: Sendable {
    private let state = Mutex<[CInt]>([])

    var statuses: [CInt] {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
