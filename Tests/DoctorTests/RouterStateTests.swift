import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

@testable import Doctor

/// The router's handlers, queue, log and rules, and the portal's memory.
@Suite(.timeLimit(.minutes(10))) struct RouterStateTests {
    private typealias Answers = StandInSession.Answers

    /// An answer of the router, and the findings about it.
    struct State: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var topic: String?
        /// The findings of the check, each as `LEVEL CHECK SUBJECT`.
        let labels: [String]
        /// A part of the first finding's message.
        let message: String
        let change: @Sendable (inout StandInSession.Answers) -> Void

        init(
            _ name: String,
            about topic: String? = nil,
            _ labels: [String],
            _ message: String = "",
            _ change: @escaping @Sendable (inout StandInSession.Answers) -> Void
        ) {
            testDescription = name
            self.topic = topic
            self.labels = labels
            self.message = message
            self.change = change
        }
    }

    @Test(arguments: states + registries + explanations + queues + logs + policies + proofs + choices)
    func stateIsReported(_ state: State) async throws {
        let session = try ExaminedSession()
        try session.writeEntry("app")
        try session.choose("x-scheme-handler/note=com.example.note.desktop")
        var answers = Answers()
        state.change(&answers)
        let standIn = try await StandInSession([RouterService.name, PermissionStore.name], answers)
        defer { standIn.stop() }
        let parts: Set<Finding.Part> = [.handlers, .openers, .router]
        let findings = try await standIn.findings(in: session, about: state.topic).filter { parts.contains($0.part) }
        // Programs of the desktop that are not installed are not this test's subject.
        let found = findings.filter {
            $0.isFault || $0.level == .skip && !["gio", "xdg-open", "kde", "openers"].contains($0.check)
        }
        #expect(found.map(\.label) == state.labels, "\(found)")
        let messages = state.labels.isEmpty ? findings.map(\.message) : found.prefix(1).map(\.message)
        #expect(messages.contains { $0.contains(state.message) }, "\(messages)")
    }

    /// The router lists an empty queue if it has not been able to create the file.
    @Test(arguments: [[], [queued(7, .dead)]]) func queueThatCannotBeWrittenIsReported(_ queue: [QueuedURL])
        async throws
    {
        let session = try ExaminedSession()
        session.obstacle = "the disk is full"
        var answers = Answers()
        answers.queue = queue
        let standIn = try await StandInSession([RouterService.name], answers)
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, about: nil).filter { $0.check == "queue" }
        #expect(findings.map(\.label) == ["fail queue queue"])
        #expect(findings.map(\.message) == ["no URL can be stored, because the disk is full"])
    }

    // MARK: Handlers

    private static let id = "com.example.note"

    private static func status(
        _ change: @escaping @Sendable (inout HandlerStatus) -> Void
    ) -> @Sendable (inout StandInSession.Answers) -> Void {
        { answers in
            var status = HandlerStatus(id: id, state: .known(.active), pid: 42)
            change(&status)
            answers.states = [status]
        }
    }

    private static let states: [State] = [
        State("the handler runs", [], "1 handler is registered", status { _ in }),
        State("the handler does not run", [], "1 handler is registered", status { $0.pid = nil }),
        State(
            "quarantine",
            ["fail quarantine \(id)"],
            "crashed too often",
            status { $0.quarantinedUntil = 4_000_000_000 }
        ),
        State(
            "quarantine that ends",
            ["fail quarantine \(id)"],
            "for another 1 second",
            status { $0.quarantinedUntil = 1 }
        ),
        State(
            "quarantine of the topic",
            about: id,
            ["fail quarantine \(id)"],
            "crashed",
            status { $0.quarantinedUntil = 1 }
        ),
        State(
            "quarantine of another handler",
            about: "com.example.gone",
            ["fail handler com.example.gone"],
            "is not registered",
            status { $0.quarantinedUntil = 1 }
        ),
        State(
            "started by hand",
            ["warn by-hand \(id)"],
            "was started by hand as process 42",
            status { $0.isVerified = false }
        ),
        State(
            "not running, and not verified",
            [],
            "1 handler",
            status {
                $0.isVerified = false; $0.pid = nil
            }
        ),
        State(
            "openurl run has started it",
            [],
            "1 handler",
            status {
                $0.isVerified = false; $0.temporary = .known(.claim)
            }
        ),
        State(
            "no longer registered",
            ["warn unregistered \(id)"],
            "its process 42 is still running",
            status { $0.isRegistered = false }
        ),
        State(
            "no longer registered, and ended",
            [],
            "1 handler",
            status {
                $0.isRegistered = false; $0.pid = nil
            }
        ),
        State("the router does not list the states", ["skip states router"], "List fails") { $0.failing = ["List"] },
    ]

    private static let registries: [State] = [
        State("the router knows the same", [], "1 handler") { _ in },
        State("the router knows no handler", ["warn stale-router router"], "does not know \(id)") { $0.handlers = [] },
        State(
            "the router knows more",
            ["warn stale-router router"],
            "knows com.example.more, which this program does not find"
        ) {
            $0.handlers.append(StandInSession.entry("com.example.more", ["more"]))
        },
        State(
            "the router knows others",
            ["warn stale-router router"],
            "does not know \(id), and knows com.example.more"
        ) {
            $0.handlers = [StandInSession.entry("com.example.more", ["more"])]
        },
        State("the router lists applications too", [], "1 handler") {
            $0.handlers.append(StandInSession.entry("reader.desktop", ["news"]))
        },
        State("a handler is there until the router ends", [], "is registered until the router exits") {
            $0.handlers.append(StandInSession.entry("com.example.more", ["more"], temporary: .known(.registration)))
        },
        State("a program has claimed a scheme", [], "gets more: while the program that 'openurl run' started") {
            $0.handlers.append(StandInSession.entry("com.example.more", ["more"], temporary: .known(.claim)))
        },
        State("a temporary handler takes the place of a registered one", [], "is registered until") {
            $0.handlers = [StandInSession.entry(id, ["note"], temporary: .known(.registration))]
        },
        State("the router could not list its handlers", ["skip stale-router router"], "ListHandlers fails") {
            $0.failing = ["ListHandlers"]
        },
    ]

    // MARK: One URL

    private static func explain(
        _ change: @escaping @Sendable (inout Explanation) -> Void
    ) -> @Sendable (inout StandInSession.Answers) -> Void {
        { answers in
            answers.explanation = { url in
                var explanation = Explanation(url: url)
                explanation.handler = id
                change(&explanation)
                return explanation
            }
        }
    }

    private static let explanations: [State] = [
        State("the router has the same choice", about: "note", [], id, explain { _ in }),
        State("the policy allows the URL", about: "note:1", [], id, explain { $0.decision = .known(.allow) }),
        State("the policy asks", about: "note:1", [], id, explain { $0.decision = .known(.ask) }),
        State(
            "the policy denies the URL",
            about: "note:1",
            ["fail policy openurl"],
            "denies the URL: rule 7",
            explain {
                $0.decision = .known(.deny)
                $0.decisionReason = "rule 7"
            }
        ),
        State(
            "the policy denies the URL without a reason",
            about: "note:1",
            ["fail policy openurl"],
            "a rule of the policy",
            explain { $0.decision = .known(.deny) }
        ),
        State(
            "the URL would not be opened",
            about: "note:1",
            ["fail openurl openurl"],
            "is suspended",
            explain {
                $0.error = ("org.openurl.Router1.Error.LaunchFailed", "is suspended")
            }
        ),
        State(
            "the reason has the secret of the URL",
            about: "note://a?token=hunter2",
            ["fail openurl openurl"],
            "broken",
            explain {
                $0.error = ("org.openurl.Router1.Error.LaunchFailed", "note://a?token=hunter2 is broken")
            }
        ),
        State(
            "a temporary handler gets the URL",
            about: "note:1",
            [],
            "com.example.more, which is registered only temporarily"
        ) { answers in
            explain { $0.handler = "com.example.more" }(&answers)
            answers.handlers.append(StandInSession.entry("com.example.more", ["note"], temporary: .known(.claim)))
        },
        State("the router does not explain", about: "note", ["skip openurl openurl"], "Explain fails") {
            $0.failing = ["Explain"]
        },
    ]

    /// A report can be published, so it has no secret of a URL.
    @Test func secretOfTheURLIsNotReported() async throws {
        let session = try ExaminedSession()
        var answers = Answers()
        Self.explain { $0.error = ("org.openurl.Router1.Error.LaunchFailed", "note://a?token=hunter2 is broken") }(
            &answers
        )
        let standIn = try await StandInSession([RouterService.name], answers)
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, about: "note://a?token=hunter2")
        #expect(!findings.contains { $0.message.contains("hunter2") }, "\(findings)")
    }

    // MARK: The queue

    private static func queued(_ id: Int, _ state: QueuedURL.State, _ url: String = "note:1", error: String? = nil)
        -> QueuedURL
    {
        var queued = QueuedURL(id: "\(id)", url: url, handler: Self.id, state: state, attempts: 8, accepted: 1)
        queued.error = error.map { RemoteError(OpenURLError.Code.launchFailed.errorName, $0) }
        return queued
    }

    private static func letters(_ count: Int) -> [QueuedURL] { (1...count).map { queued($0, .dead) } }

    private static let queues: [State] = [
        State("the queue is empty", [], "0 URLs are waiting, and none was abandoned") { _ in },
        State("a URL waits", [], "1 URL is waiting, and none was abandoned") { $0.queue = [queued(1, .waiting)] },
        State("URLs of several pages wait", [], "5 URLs are waiting") {
            $0.queue = (1...5).map { queued($0, .waiting) }
        },
        State("a URL is delivered now", [], "1 URL is waiting") { $0.queue = [queued(1, .delivering)] },
        State("a URL was abandoned", ["warn dead-letter queue 7"], "note:1 was abandoned after 8 attempts: it broke") {
            $0.queue = [queued(7, .dead, error: "it broke")]
        },
        State("a URL was abandoned for no reason", ["warn dead-letter queue 7"], "attempts: no reason was given") {
            $0.queue = [queued(7, .dead)]
        },
        State("the URL has a secret", ["warn dead-letter queue 7"], "note://a?… was abandoned") {
            $0.queue = [queued(7, .dead, "note://a?token=x")]
        },
        State("five URLs were abandoned", (1...5).map { "warn dead-letter queue \($0)" }, "note:1 was abandoned") {
            $0.queue = letters(5)
        },
        State(
            "eight URLs were abandoned",
            (4...8).map { "warn dead-letter queue \($0)" } + ["warn dead-letter queue"],
            "note:1 was abandoned"
        ) {
            $0.queue = letters(8)
        },
        State("a URL waits after a failure", ["warn failure queue 3"], "note:1 is waiting after a failure: it broke") {
            $0.queue = [queued(3, .waiting, error: "it broke")]
        },
        State("a URL of another scheme was abandoned", about: "other", ["fail openurl openurl"], "has no handler") {
            $0.queue = [queued(7, .dead)]
        },
        State("the topic is the handler of the URL", about: id, ["warn dead-letter queue 7"], "more:1 was abandoned") {
            $0.queue = [queued(7, .dead, "more:1")]
        },
        State("the scheme is in upper case", about: "note", ["warn dead-letter queue 7"], "NOTE:1") {
            $0.queue = [queued(7, .dead, "NOTE:1")]
        },
        State("the router cannot use the queue", ["fail queue queue"], "the router could not list it") {
            $0.failing = ["Queue"]
        },
    ]

    // MARK: The log

    private static func entry(
        _ age: Int,
        _ kind: MonitorEntry.Kind = .open,
        _ url: String? = "note:1",
        handler: String? = id,
        error: OpenURLError.Code? = nil
    ) -> MonitorEntry {
        // The handler is newly written, and a failure from before may have been fixed by that.
        let time = UInt64(Date.now.timeIntervalSince1970) + 60 - UInt64(age)
        var entry = MonitorEntry(time: time * 1_000_000 + UInt64(100 - age % 100), kind: kind)
        entry.url = url
        entry.handler = handler
        entry.error = error.map { RemoteError($0.errorName, "it broke") }
        return entry
    }

    private static let failed = ["warn last-failure \(id)"]

    private static let logs: [State] = [
        State("nothing was opened", [], "the latest requests did not fail") { _ in },
        State("a URL was opened", [], "the latest requests did not fail") { $0.log = [entry(1)] },
        State("a request failed", failed, "the latest request ('note:1') failed: it broke") {
            $0.log = [entry(1, error: .launchFailed)]
        },
        State("a crash", failed, "it broke") { $0.log = [entry(1, error: .handlerCrashed)] },
        State("a request without a URL failed", failed, "the latest request failed: it broke") {
            $0.log = [entry(1, .activate, nil, error: .launchFailed)]
        },
        State("a request failed, and a later one did not", [], "did not fail") {
            $0.log = [entry(1), entry(2, error: .launchFailed)]
        },
        State("a request failed after others", failed, "it broke") {
            $0.log = [entry(1, error: .timedOut)] + (2...9).map { entry($0) }
        },
        State("the handler was written anew after its failure", [], "did not fail") {
            $0.log = [entry(3600, error: .launchFailed)]
        },
        State("another handler has opened a URL of the scheme since", [], "did not fail") {
            $0.log = [entry(1, handler: "com.example.more"), entry(2, error: .launchFailed)]
        },
        State("there was no handler, and a URL of the scheme was opened since", [], "did not fail") {
            $0.log = [
                entry(1, .open, "gone:1", handler: "com.example.gone"),
                entry(2, .open, "gone:1", handler: nil, error: .noHandler),
            ]
        },
        State("the handler declined", [], "except where the handler declined") {
            $0.log = [entry(1, error: .declined)]
        },
        State("the caller cancelled", [], "did not fail") { $0.log = [entry(1, error: .cancelled)] },
        State("the failure is two days old", [], "did not fail") { $0.log = [entry(200_000, error: .launchFailed)] },
        State("an attempt of the queue failed", [], "did not fail") {
            $0.log = [entry(1, .attempt, error: .launchFailed)]
        },
        State("there was no handler, and is one now", [], "did not fail") {
            $0.log = [entry(1, handler: nil, error: .noHandler)]
        },
        State("there was no handler, and is none", ["warn last-failure gone:1"], "it broke") {
            $0.log = [entry(1, .open, "gone:1", handler: nil, error: .noHandler)]
        },
        State("there was no handler, and is a temporary one", [], "did not fail") {
            $0.log = [entry(1, .open, "more:1", handler: nil, error: .noHandler)]
            $0.handlers.append(StandInSession.entry("com.example.more", ["more"], temporary: .known(.claim)))
        },
        State("two schemes without handlers", ["warn last-failure b:1", "warn last-failure a:1"], "it broke") {
            $0.log = ["b:1", "a:1", "b:2"].enumerated().map {
                entry($0 + 1, .open, $1, handler: nil, error: .noHandler)
            }
        },
        State("another handler failed", about: id, [], "did not fail") {
            $0.log = [entry(1, .open, "more:1", handler: "com.example.more", error: .launchFailed)]
        },
        State("the router does not show its log", ["skip log log"], "Log fails") { $0.failing = ["Log"] },
    ]

    /// The handler's output says more than the log, if the handler has written something.
    @Test(arguments: [
        ("it broke; 'openurl output \(id)' shows its output", "openurl output \(id)"),
        ("it broke", "openurl log --failed"),
    ])
    func outputOfAFailedHandlerIsShown(_ message: String, _ fix: String) async throws {
        let session = try ExaminedSession()
        var answers = Answers()
        var failed = Self.entry(1, error: .handlerCrashed)
        failed.error = RemoteError(OpenURLError.Code.handlerCrashed.errorName, message)
        answers.log = [failed]
        let standIn = try await StandInSession([RouterService.name], answers)
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, about: nil)
        #expect(findings.first { $0.check == "last-failure" }?.fix == fix)
    }

    // MARK: Proofs for links

    private static func proof(
        _ origin: LinkProof.Origin,
        _ change: @escaping @Sendable (inout LinkProof) -> Void = { _ in }
    ) -> @Sendable (inout StandInSession.Answers) -> Void {
        { answers in
            var proof = LinkProof(handler: id, host: "example.com", manifest: "/note.plist")
            proof.origin = .known(origin)
            change(&proof)
            answers.proofs = [proof]
        }
    }

    private static let proofs: [State] = [
        State("a site names the handler", [], "its links go to com.example.note", proof(.site)),
        State(
            "the user has revoked the links",
            [],
            "because you have revoked them",
            proof(.nothing) { $0.decision = .deny }
        ),
        State(
            "there is no proof",
            ["warn links example.com"],
            "there is no proof: no network",
            proof(.nothing) { $0.problem = "no network" }
        ),
        State(
            "there is no proof for another handler",
            about: "com.example.gone",
            ["fail handler com.example.gone"],
            "is not registered",
            proof(.nothing)
        ),
        State("the router does not list the proofs", ["skip links links"], "could not list the proofs") {
            $0.failing = ["Proofs"]
        },
    ]

    // MARK: The policy

    private static func rule(_ scheme: String, _ decision: PolicyDecision, host: String? = nil, isUsers: Bool = true)
        -> PolicyRule
    {
        PolicyRule(source: "*", scheme: scheme, host: host, decision: decision, file: "/p", line: 3, isUsers: isUsers)
    }

    private static func refusal(
        _ scheme: String,
        host: String? = nil,
        _ decision: PolicyDecision = .deny,
        handler: String = id
    ) -> PolicyAnswer {
        PolicyAnswer(source: "local", scheme: scheme, host: host, handler: handler, decision: decision, date: 1)
    }

    private static let policies: [State] = [
        State("there are no rules", [], "rules that deny URLs: 0; remembered refusals: 0") { _ in },
        State("rules without a topic", [], "rules that deny URLs: 2; remembered refusals: 1") {
            $0.rules = [rule("note", .deny), rule("*", .deny), rule("more", .allow)]
            $0.answers = [refusal("note"), refusal("more", .allow)]
        },
        State("a rule allows", about: "note", [], "rules that deny URLs: 0") {
            $0.rules = [rule("note", .allow), rule("note", .ask)]
        },
        State("a rule denies the scheme", about: "note", ["warn policy policy"], "line 3 denies note:") {
            $0.rules = [rule("note", .deny)]
        },
        State("a rule denies every scheme", about: "note", ["warn policy policy"], "line 3 denies *:") {
            $0.rules = [rule("*", .deny)]
        },
        State("a file that cannot be read denies", about: "note", ["warn policy policy"], "/p: is larger than") {
            var refusal = rule("*", .deny)
            refusal.line = 0
            refusal.standsForProblem = true
            $0.rules = [refusal]
            $0.problems = ["/p: is larger than 65536 bytes"]
        },
        State("a line that cannot be read denies", about: "note", ["warn policy policy"], "/p: line 3: has no") {
            var refusal = rule("*", .deny)
            refusal.standsForProblem = true
            $0.rules = [refusal]
            $0.problems = ["/p: line 3: has no decision"]
        },
        State(
            "a rule denies, and another line cannot be read",
            about: "note",
            ["warn policy policy", "warn policy policy"],
            "/p: line 33: has no"
        ) {
            $0.rules = [rule("note", .deny)]
            $0.problems = ["/p: line 33: has no decision"]
        },
        State("a rule denies another scheme", about: "note", [], "rules that deny URLs: 0") {
            $0.rules = [rule("more", .deny)]
        },
        State(
            "a rule of the administrator denies",
            about: "note",
            ["warn policy policy"],
            "denies note: example.com to *"
        ) {
            $0.rules = [rule("note", .deny, host: "example.com", isUsers: false)]
        },
        State("the person has refused", about: "note", ["warn refusal policy"], "you refused note from local") {
            $0.answers = [refusal("note")]
        },
        State(
            "the person has refused a host",
            about: "note",
            ["warn refusal policy"],
            "you refused note://a.b from local"
        ) {
            $0.answers = [refusal("note", host: "a.b")]
        },
        State("the person has allowed", about: "note", [], "remembered refusals: 0") {
            $0.answers = [refusal("note", .allow)]
        },
        State("the person has refused another scheme", about: "note", [], "remembered refusals: 0") {
            $0.answers = [refusal("more", handler: "x.y")]
        },
        State("a file of rules has a mistake", ["warn policy policy"], "/etc/p.conf:3: is wrong") {
            $0.problems = ["/etc/p.conf:3: is wrong"]
        },
        State("the router does not tell its rules", ["skip policy policy"], "Rules fails") { $0.failing = ["Rules"] },
        State("the router does not tell its answers", ["skip policy policy"], "Answers fails") {
            $0.failing = ["Answers"]
        },
    ]

    // MARK: The portal

    /// The portal asks no question if there is only one application to choose.
    @Test func onlyApplicationIsNotAskedAbout() async throws {
        let session = try ExaminedSession()
        try session.writeEntry("app", opening: [])
        var answers = Answers()
        answers.choices = ["a.b": ["app", "1", "3"]]
        let standIn = try await StandInSession([RouterService.name, PermissionStore.name], answers)
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, about: "note").filter { $0.check == "portal" }
        #expect(findings.map(\.label) == Self.differs)
    }

    private static let differs = ["warn portal portal"]

    private static let choices: [State] = [
        State("the portal remembers nothing", about: "note", [], "makes no choice of its own for note:") { _ in },
        State(
            "the portal remembers nothing for another scheme",
            about: "unknown",
            ["fail openurl openurl"],
            "has no handler"
        ) {
            $0.choices = ["": ["app", "3", "3"]]
        },
        State(
            "the portal remembers the handler",
            about: "note",
            [],
            "com.example.note, as remembered for org.example.Caller"
        ) {
            $0.choices = ["org.example.Caller": [id, "3", "3"]]
        },
        State(
            "the portal remembers the handler of everyone",
            about: "note",
            [],
            "as remembered for programs outside sandboxes"
        ) {
            $0.choices = ["": [id, "3", "3"]]
        },
        State(
            "the portal remembers an application",
            about: "note",
            differs,
            "opens note: URLs from org.example.Caller with app.desktop, as remembered, but openurl chooses com.example.note"
        ) {
            $0.choices = ["org.example.Caller": ["app", "3", "3"]]
        },
        State("the portal remembers an application, and there is no topic", differs, "with app.desktop, as remembered")
        {
            $0.choices = ["org.example.Caller": ["app", "3", "3"]]
        },
        State("two programs have another choice", differs + differs, "from a.b") {
            $0.choices = ["a.b": ["app", "3", "3"], "c.d": ["app", "4", "3"]]
        },
        State("the choice has no threshold, which is three", differs, "with app.desktop, as remembered") {
            $0.choices = ["a.b": ["app", "3"]]
        },
        State("the choice was made once, and the portal asks again", [], "1 handler") {
            $0.choices = ["a.b": ["app", "1", "3"]]
        },
        State("the choice was made twice, and the portal asks again", about: "note", [], "makes no choice of its own") {
            $0.choices = ["a.b": ["app", "2", "3"]]
        },
        State("the portal always asks", about: "note", [], "makes no choice of its own") {
            $0.choices = ["a.b": ["app", "3", "3"]]
            $0.choiceData = .options(["always-ask": true])
        },
        State("the threshold cannot be reached", about: "note", [], "makes no choice of its own") {
            $0.choices = ["a.b": ["app", "2147483647", "2147483647"]]
        },
        State("the application is no longer installed", about: "note", [], "makes no choice of its own") {
            $0.choices = ["a.b": ["gone", "3", "3"]]
        },
        State("the choice has no number", about: "note", [], "makes no choice of its own") {
            $0.choices = ["a.b": ["app"]]
        },
        State("the choice is empty", about: "note", [], "makes no choice of its own") { $0.choices = ["a.b": []] },
        State("the choice has an empty name", about: "note", [], "makes no choice of its own") {
            $0.choices = ["a.b": ["", "3", "3"]]
        },
    ]
}
