import Desktop
import Foundation
import Glibc
import Logging
import OpenURLBus
import Policy
import Reactor
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The rules in the router, and the questions to the person.
@Suite(.timeLimit(.minutes(10))) struct QuestionTests {
    /// A connection of this process, which is a program of the user.
    private static let user: BusName = ":1.60"
    private static let other: BusName = ":1.61"
    /// A connection that has gone.
    private static let gone: BusName = ":1.99"

    private let directory: TemporaryDirectory
    private let person: FakePerson
    private let bus: FakeHandlers

    init() throws {
        directory = try TemporaryDirectory()
        person = FakePerson()
        let pid = UInt32(getpid())
        bus = try FakeHandlers(
            ["com.example.target": ":1.1"],
            processes: [Self.user: pid, Self.other: pid, ":1.1": 1]
        )
    }

    private var rulesFile: String { "\(directory.path)/policy.conf" }

    private func store() throws -> PolicyStore {
        PolicyStore(
            PolicyFiles(administratorsDirectory: "\(directory.path)/etc", usersDirectory: directory.path),
            answersDirectory: directory.path,
            on: try EventLoop(),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func router(
        _ rules: String,
        person: FakePerson? = nil,
        limits: RouterLimits = RouterLimits(),
        _ target: (inout HandlerManifest) throws -> Void = { _ in }
    ) async throws -> URLRouter {
        try Data(rules.utf8).write(to: URL(filePath: rulesFile))
        let router = URLRouter(
            [try .test("com.example.target", target)],
            on: bus,
            limits: limits,
            policy: try store(),
            person: person ?? self.person
        )
        await router.load()
        return router
    }

    private func opened(_ url: String, _ request: Task<OpenResult, any Error>) async throws {
        await bus.wait(for: .opened(url, at: ":1.1"))
        bus.answer(url)
        _ = try await request.value
    }

    private func open(
        _ url: String,
        _ router: URLRouter,
        _ options: OpenOptions = OpenOptions(),
        from caller: BusName = user
    ) -> Task<OpenResult, any Error> {
        Task { try await router.open(url, options, caller: caller) }
    }

    private func failure(_ task: Task<OpenResult, any Error>) async throws -> OpenURLError {
        do {
            _ = try await task.value
            Issue.record("the URL was opened")
            return OpenURLError(.noHandler, "")
        } catch {
            return try #require(error as? OpenURLError)
        }
    }

    // MARK: Rules

    @Test func deniedURLReachesNoHandler() async throws {
        let router = try await router("# mine\ndeny target://bad from user\n")
        let error = try await failure(open("target://bad/x", router))
        #expect(
            error
                == OpenURLError(
                    .notAllowed,
                    "the rule 'deny target://bad from user' in \(rulesFile), line 2 does not allow it; "
                        + "'openurl policy allow --source user target://bad' allows it"
                )
        )
        #expect(bus.opened == [])
        try await opened("target://good", open("target://good", router))
        #expect(person.asked.isEmpty)
    }

    @Test func strangerDoesNotLearnTheRule() async throws {
        let router = try await router("deny * from *\n")
        let error = try await failure(open("target:x", router, from: Self.gone))
        #expect(
            error.message
                == "the policy does not allow it; 'openurl policy allow --source unknown target' allows it"
        )
    }

    @Test func strangerDoesNotLearnWhoseRuleItIs() async throws {
        let message = "the policy does not allow it; 'openurl policy allow --source unknown target' allows it"
        // The router refuses the URL because it cannot read the line.
        let unreadable = try await router("nonsense\n")
        #expect(try await failure(open("target:x", unreadable, from: Self.gone)).message == message)
        try FileManager.default.createDirectory(atPath: "\(directory.path)/etc", withIntermediateDirectories: true)
        try Data("deny target from *\n".utf8).write(to: URL(filePath: "\(directory.path)/etc/10.conf"))
        let ruled = try await router("")
        #expect(try await failure(open("target:x", ruled, from: Self.gone)).message == message)
    }

    @Test func refusalNamesTheCommandsThatAllowTheURL() async throws {
        let url = PolicyURL(scheme: try Scheme("target"), host: nil)
        var source = OpenContext.Source()
        source.callerClass = .known(.user)
        source.isIntermediary = true
        for (rules, callers) in [
            ("deny target from sandboxed\n", ["sandboxed"]), ("deny target from *\n", ["user", "sandboxed"]),
        ] {
            let router = try await router(rules)
            for caller in callers {
                let command = "'openurl policy allow --source \(caller) target'"
                #expect(try await router.refusal(of: url, from: source).hasSuffix("; \(command) allows it"))
                try await router.setRule(try PolicyPattern(urls: "target", source: caller), .allow)
            }
            #expect(try await router.decision(on: "target:x", from: source) == .allow)
        }
    }

    /// A rule that allows every host is less specific than one that denies a host.
    @Test func refusalBecauseOfADoubtfulHostNamesTheRule() async throws {
        let url = PolicyURL(scheme: try Scheme("http"), host: nil)
        var source = OpenContext.Source()
        source.callerClass = .known(.user)
        for (rule, advice) in [
            ("deny http://evil.com from user", "only a change of the rule 'deny http://evil.com from user' allows it"),
            ("deny http from user", "'openurl policy allow --source user http' allows it"),
            ("deny http://evil.com from *", "'openurl policy allow --source user http' allows it"),
            ("deny *://evil.com from user", "'openurl policy allow --source user http' allows it"),
        ] {
            let router = try await router("\(rule)\n")
            #expect(try await router.refusal(of: url, from: source).contains("; \(advice)"))
        }
    }

    @Test func changedRuleCountsAtOnce() async throws {
        let router = try await router("deny target from user\n")
        let pattern = try PolicyPattern(urls: "target", source: "user")
        try await router.setRule(pattern, .allow)
        #expect(try String(contentsOfFile: rulesFile, encoding: .utf8) == "allow target from user\n")
        try await opened("target:x", open("target:x", router))
        try await router.removeRule(pattern)
        #expect(await router.policyRules().0.isEmpty)
        await #expect(throws: RemoteError.self) { try await router.removeRule(pattern) }
    }

    @Test func ruleForAnUnreadableLineStandsForAProblem() async throws {
        let router = try await router("deny target from user\nrefuse all\n")
        let (rules, problems) = await router.policyRules()
        #expect(rules.map(\.line) == [1, 2, 2, 2])
        #expect(rules.map(\.standsForProblem) == [false, true, true, true])
        #expect(problems.count == 1)
    }

    @Test func refusalThatComesDuringTheQuestionCounts() async throws {
        let router = try await router("ask target from user\n")
        let request = open("target:x", router)
        try await person.wait(forQuestions: 1)
        try await router.setRule(try PolicyPattern(urls: "target", source: "user"), .deny)
        person.reply(.once)
        #expect(try await failure(request).code == .notAllowed)
        #expect(bus.opened == [])
    }

    @Test func administratorsRuleCannotBeChanged() async throws {
        try FileManager.default.createDirectory(atPath: "\(directory.path)/etc", withIntermediateDirectories: true)
        let file = "\(directory.path)/etc/10.conf"
        try Data("deny target from *\n".utf8).write(to: URL(filePath: file))
        let router = try await router("allow target://x from user\n")
        let error = try await failure(open("target://x", router))
        #expect(
            error.message == "the rule 'deny target from *' in \(file), line 1 does not allow it; "
                + "only the administrator can change that"
        )
        let pattern = try PolicyPattern(urls: "target://x", source: "user")
        let refusal = await #expect(throws: OpenURLError.self) { try await router.setRule(pattern, .allow) }
        #expect(refusal?.code == .notAllowed)
    }

    @Test func explanationNamesTheRule() async throws {
        let router = try await router("ask target://a from user\ndeny target://b from *\ndeny nobody from remote\n")
        let asked = try await router.explain("target://a", OpenOptions(), caller: Self.user)
        #expect(asked.decision == .known(.ask))
        #expect(asked.decisionReason == "the rule 'ask target://a from user' in \(rulesFile), line 1")
        #expect(asked.error == nil)
        let denied = try await router.explain("target://b", OpenOptions(), caller: Self.user)
        #expect(denied.decision == .known(.deny))
        #expect(denied.error?.name == OpenURLError.Code.notAllowed.errorName.rawValue)
        let none = try await router.explain("target:x", OpenOptions(), caller: Self.user)
        #expect(none.decision == .known(.allow))
        #expect(none.decisionReason == "no rule")
        var remote = OpenOptions()
        remote.senderClass = .remote
        let unclaimed = try await router.explain("nobody:x", remote, caller: Self.user)
        #expect(unclaimed.decisionReason == "the rule 'deny nobody from remote' in \(rulesFile), line 3")
        #expect(try await router.canOpen("target://a", caller: Self.user))
        #expect(try await !router.canOpen("target://b", caller: Self.user))
        #expect(person.asked.isEmpty)
    }

    // MARK: Questions

    @Test func questionDoesNotHoldThePlaceInTheQueue() async throws {
        let router = try await router("ask target://slow from user\n")
        let slow = open("target://slow", router)
        try await person.wait(forQuestions: 1)
        try await opened("target:next", open("target:next", router))
        #expect(await router.waiting(for: "com.example.target") == 0)
        person.reply(.once)
        try await opened("target://slow", slow)
        #expect(await router.hasAnsweredAll)
        // The next one is asked about again.
        let again = open("target://slow", router)
        try await person.wait(forQuestions: 2)
        person.reply(.no)
        #expect(
            try await failure(again)
                == OpenURLError(.notAllowed, "the user was asked whether to open it, and answered no")
        )
        #expect(bus.opened == [])
    }

    @Test func answerIsForTheURLThatThePersonHasSeen() async throws {
        let router = try await router("", { $0.asks = true })
        let first = open("target://a/1", router)
        try await person.wait(forQuestions: 1)
        let second = open("target://a/2", router, from: Self.other)
        await router.wait { $0.questions.count == 2 }
        person.reply(.once)
        try await opened("target://a/1", first)
        try await person.wait(forQuestions: 2)
        #expect(person.asked.map(\.url) == ["target://a/1", "target://a/2"])
        person.reply(.no)
        #expect(try await failure(second).code == .notAllowed)
    }

    @Test func answerForLaterHoldsForTheQuestionsThatWait() async throws {
        let router = try await router("", { $0.asks = true })
        let first = open("target://a/1", router)
        try await person.wait(forQuestions: 1)
        let second = open("target://a/2", router, from: Self.other)
        await router.wait { $0.questions.count == 2 }
        person.reply(.always)
        try await opened("target://a/1", first)
        try await opened("target://a/2", second)
        #expect(person.asked.map(\.url) == ["target://a/1"])
        await router.wait { !$0.permissions.isWriting }
    }

    /// A caller that leaves at once could otherwise get around a rule for its class or its identifier.
    @Test(arguments: ["deny target from sandboxed", "deny target from org.example.App", "deny * from *"])
    func callerThatHasGoneMeetsEveryRuleForTheURL(rule: String) async throws {
        let router = try await router("\(rule)\nallow * from user\ndeny other from sandboxed\n")
        #expect(try await failure(open("target:x", router, from: Self.gone)).code == .notAllowed)
        #expect(bus.opened == [])
    }

    @Test func ruleThatNamesUnknownCallersDecidesAboutThem() async throws {
        let router = try await router("deny target from sandboxed\nallow target from unknown\n")
        try await opened("target:x", open("target:x", router, from: Self.gone))
    }

    /// A portal passes on the URLs of sandboxes, and the router does not learn whose.
    @Test func urlOfAnIntermediaryMeetsTheRulesForSandboxes() async throws {
        let router = try await router("allow target from user\ndeny target from sandboxed\n")
        var source = OpenContext.Source()
        source.callerClass = .known(.user)
        #expect(try await router.decision(on: "target:x", from: source) == .allow)
        source.isIntermediary = true
        #expect(try await router.decision(on: "target:x", from: source) == .deny)
    }

    /// "Always open" for the user's programs says nothing about the sandboxes whose URLs a portal passes on.
    @Test func rememberedYesCountsForNoIntermediary() async throws {
        let router = try await router("ask target from user\nask target from sandboxed\n")
        var source = OpenContext.Source()
        source.callerClass = .known(.user)
        for (isAllowed, expected) in [(true, PolicyDecision.ask), (false, .deny)] {
            source.isIntermediary = false
            try await router.remember("target:x", isAllowed, from: source)
            #expect(try await router.decision(on: "target:x", from: source) == (isAllowed ? .allow : .deny))
            source.isIntermediary = true
            #expect(try await router.decision(on: "target:x", from: source) == expected)
            // Nothing is remembered about an intermediary itself.
            try await router.remember("target://other", true, from: source)
            source.isIntermediary = false
        }
        #expect(await router.rememberedAnswers == 1)
        await router.wait { !$0.permissions.isWriting }
    }

    @Test func confinedCallersOpenNoFiles() async throws {
        let file = { (manifest: inout HandlerManifest) throws in
            manifest.urlTypes = [URLType(schemes: [try Scheme("file")])]
        }
        for (rules, decision) in [("", PolicyDecision.deny), ("allow file from org.example.App\n", .allow)] {
            let router = try await router(rules, file)
            var source = OpenContext.Source()
            source.callerClass = .known(.sandboxed)
            source.application = "org.example.App"
            #expect(try await router.decision(on: "file:///etc/passwd", from: source) == decision)
            source.callerClass = .known(.user)
            #expect(try await router.decision(on: "file:///etc/passwd", from: source) == .allow)
        }
    }

    @Test func zenityGetsNoEscapes() async throws {
        let router = try await router(
            "",
            {
                $0.asks = true; $0.name = #"A\074b\076\n\377"#
            }
        )
        let request = open("target:x", router)
        try await person.wait(forQuestions: 1)
        let dialog = try #require(person.asked.first)
        let text = DialogProgram.zenity.arguments(dialog, .seconds(1)).joined(separator: " ")
        #expect(text.replacing(#"\\"#, with: "").contains("\\") == false)
        #expect(text.contains(#"A\\074b\\076"#))
        person.reply(.no)
        _ = try await failure(request)
    }

    @Test func unknownCallersShareOnlyAnswersAboutOneURL() async throws {
        let router = try await router("ask * from unknown\n")
        let first = open("target://a/1", router, from: Self.gone)
        try await person.wait(forQuestions: 1)
        let second = open("target://a/2", router, from: ":1.98")
        await router.wait { $0.callers.unanswered.total.calls == 2 }
        #expect(person.asked.first?.isMemorable == false)
        person.reply(.always)
        try await opened("target://a/1", first)
        try await person.wait(forQuestions: 2)
        person.reply(.no)
        _ = try await failure(second)
        #expect(try await router.policyAnswers() == [])
        await router.wait { !$0.permissions.isWriting }
    }

    @Test func rememberedAnswerDecidesUntilItIsForgotten() async throws {
        let router = try await router("ask target from user\n")
        let first = open("target://a", router)
        try await person.wait(forQuestions: 1)
        person.reply(.always)
        try await opened("target://a", first)
        try await opened("target://a/2", open("target://a/2", router))
        let answer = try #require(try await router.policyAnswers().first)
        #expect([answer.source, answer.scheme, answer.handler] == ["user", "target", "com.example.target"])
        #expect(answer.host == "a")
        #expect(answer.uses == 1)
        #expect(person.asked.count == 1)
        // The next router knows the answer.
        await router.wait { !$0.permissions.isWriting }
        let text = try String(contentsOfFile: "\(directory.path)/answers", encoding: .utf8)
        #expect(RememberedAnswers(text: text).all.map(\.key.handler) == ["com.example.target"])
        #expect(try await router.forgetAnswers(PolicyPattern(urls: "*", source: "sandboxed")) == 0)
        #expect(try await router.forgetAnswers(PolicyPattern(urls: "target", source: "*")) == 1)
        let again = open("target://a", router)
        try await person.wait(forQuestions: 2)
        person.reply(.never)
        _ = try await failure(again)
        let error = try await failure(open("target://a", router))
        #expect(
            error.message == "a remembered answer for target://a from user does not allow it; "
                + "'openurl policy forget --source user target://a' forgets the answer"
        )
        await router.wait { !$0.permissions.isWriting }
    }

    @Test func answerAboutAHostWithoutAPatternIsNotRemembered() async throws {
        let router = try await router("ask target from user\n")
        let first = open("target://[::1]/a", router)
        try await person.wait(forQuestions: 1)
        #expect(person.asked.first?.isMemorable == false)
        person.reply(.always)
        try await opened("target://[::1]/a", first)
        #expect(try await router.policyAnswers() == [])
        await router.wait { !$0.permissions.isWriting }
    }

    @Test func ruleIsStrongerThanAnAnswer() async throws {
        let router = try await router("ask target from user\n")
        let first = open("target:a", router)
        try await person.wait(forQuestions: 1)
        person.reply(.always)
        try await opened("target:a", first)
        try await router.setRule(try PolicyPattern(urls: "target", source: "user"), .deny)
        #expect(try await failure(open("target:a", router)).message.contains("the rule 'deny target from user'"))
        await router.wait { !$0.permissions.isWriting }
    }

    @Test func nobodyToAskIsARefusalWithTheCommand() async throws {
        let router = try await router("", person: FakePerson(always: nil), { $0.asks = true })
        #expect(
            try await failure(open("target:x", router))
                == OpenURLError(
                    .notAllowed,
                    "there is no desktop or terminal on which to ask whether to open it; "
                        + "'openurl policy allow --source user target' allows it"
                )
        )
    }

    @Test func lateReplyIsARefusal() async throws {
        let router = try await router("", person: FakePerson(always: .late), { $0.asks = true })
        let error = try await failure(open("target:x", router))
        #expect(error.message.hasPrefix("the user was asked whether to open it, and did not answer within "))
    }

    @Test func cancelledRequestClosesItsQuestion() async throws {
        let router = try await router("ask target from *\n")
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "t")
        let request = Task { [options] in try await router.openURL("target://a", options, caller: Self.user) }
        try await person.wait(forQuestions: 1)
        // Another request waits for its own question.
        let other = open("target://b", router, from: Self.other)
        await router.wait { $0.questions.count == 2 }
        try await router.cancelRequest(at: "/org/openurl/Router1/request/1_60/t", caller: Self.user)
        #expect(try await failure(request).code == .cancelled)
        try await person.wait(forQuestions: 2)
        person.reply(.once)
        try await opened("target://b", other)
        // The first question has no answer, so the URL is asked about again.
        let again = open("target://a", router)
        try await person.wait(forQuestions: 3)
        person.reply(.once)
        try await opened("target://a", again)
    }

    @Test func questionEndsWithTheSendersTime() async throws {
        let router = try await router("ask target from *\n")
        var options = OpenOptions()
        options.timeout = .milliseconds(20)
        #expect(try await failure(open("target://a", router, options)).code == .timedOut)
        await router.wait { $0.questions.count == 0 }
        #expect(bus.opened == [])
        // Another URL is asked about again, and its answer counts.
        let other = open("target://b", router)
        try await eventually(person.asked.map { "\($0.key.pattern)" }) { $0.last?.contains("target://b") == true }
        person.reply(.once)
        try await opened("target://b", other)
    }

    @Test func requestWithTheSameQuestionKeepsTheDialogOpen() async throws {
        let router = try await router("ask target from *\n")
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "t")
        let request = Task { [options] in try await router.openURL("target://a", options, caller: Self.user) }
        try await person.wait(forQuestions: 1)
        let same = open("target://a", router)
        await router.wait { $0.questions.waitingRequests == 2 }
        try await router.cancelRequest(at: "/org/openurl/Router1/request/1_60/t", caller: Self.user)
        #expect(try await failure(request).code == .cancelled)
        person.reply(.once)
        try await opened("target://a", same)
        #expect(person.asked.count == 1)
    }

    @Test func questionsOfOneProgramAreBounded() async throws {
        let router = try await router("", { $0.asks = true })
        let requests = (0..<2).map { open("target://h\($0)", router) }
        await router.wait { $0.callers.unanswered.total.calls == 2 }
        try await person.wait(forQuestions: 1)
        await router.wait { $0.questions.count == 2 }
        #expect(try await failure(open("target://h9", router, from: Self.other)).code == .limitsExceeded)
        await router.stopDeliveries()
        for request in requests { #expect(try await failure(request).message.hasPrefix("the router is exiting")) }
        #expect(await router.hasAnsweredAll)
    }

    @Test func dialogIsClosedWhenTheRouterExits() async throws {
        let router = try await router("ask target from user\n")
        let request = open("target://a", router)
        try await person.wait(forQuestions: 1)
        await router.stopDeliveries()
        #expect(try await failure(request).message.hasPrefix("the router is exiting"))
        await router.wait { $0.questions.count == 0 }
        #expect(try await router.policyAnswers() == [])
    }

    // MARK: Terminals

    @Test func permissionOpensOneURLOnce() async throws {
        let router = try await router("", { $0.asks = true })
        var options = OpenOptions()
        options.asksAtTerminal = true
        let error = try await failure(open("target://a", router, options))
        #expect(error.code == .notAllowed)
        #expect(error.message.hasSuffix("'openurl policy allow --source user target://a' allows it"))
        #expect(person.asked.isEmpty)
        let question = try await router.question("target://a", options, caller: Self.user)
        #expect(question.url == "target://a")
        #expect(question.handler == "com.example.target")
        options.permission = question.permission
        // Another URL, another connection, and another permission.
        #expect(try await failure(open("target://a/b", router, options)).code == .notAllowed)
        #expect(try await failure(open("target://a", router, options, from: Self.other)).code == .notAllowed)
        options.permission = "guess"
        #expect(try await failure(open("target://a", router, options)).code == .notAllowed)
        options.permission = question.permission
        try await opened("target://a", open("target://a", router, options))
        #expect(try await failure(open("target://a", router, options)).code == .notAllowed)
    }

    @Test func onlyAProgramOfTheUserAsksAtItsTerminal() async throws {
        let router = try await router("", person: FakePerson(always: .no), { $0.asks = true })
        var options = OpenOptions()
        options.asksAtTerminal = true
        let error = try await failure(open("target:a", router, options, from: Self.gone))
        #expect(error.message == "the user was asked whether to open it, and answered no")
    }

    // MARK: Files

    /// A router with a handler that takes text, and asks about it.
    private func router(asking person: FakePerson) async throws -> URLRouter {
        let target = try Handler.test("com.example.target") {
            $0.asks = true
            $0.fileClaims = [FileClaim(.type(try #require(MimeType("text/plain"))))]
        }
        try Data().write(to: URL(filePath: rulesFile))
        let router = URLRouter(
            [target],
            on: bus,
            environment: ["HOME": directory.path],
            policy: try store(),
            person: person
        )
        await router.load()
        return router
    }

    private func files(_ count: Int) throws -> [SentFile] {
        let path = try directory.write("text", to: "sent.txt")
        return try (1...count).map { number in
            let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
            try #require(descriptor >= 0)
            return SentFile(name: "\(number).txt", descriptor: UnixFD(owning: descriptor))
        }
    }

    /// Sends files, and returns the errors.
    private static func send(
        _ files: [SentFile],
        to router: URLRouter,
        within timeout: Duration? = nil
    ) async throws -> [ErrorName] {
        var options = OpenOptions()
        options.handler = "com.example.target"
        options.timeout = timeout
        return try await router.openFiles(files, options, caller: user, bytes: 0).compactMap { outcome in
            if case .failed(let error) = outcome { error.name } else { nil }
        }
    }

    @Test func noHoldsForAllFilesOfACall() async throws {
        let person = FakePerson(always: .no)
        let router = try await router(asking: person)
        let refused = OpenURLError.Code.notAllowed.errorName
        #expect(try await Self.send(try files(3), to: router) == [refused, refused, refused])
        #expect(person.asked.count == 1)
    }

    /// The sender no longer waits, so the person is not asked about the other files either.
    @Test func questionAboutFilesEndsWithTheSendersTime() async throws {
        let router = try await router(asking: person)
        let late = OpenURLError.Code.timedOut.errorName
        #expect(try await Self.send(try files(2), to: router, within: .milliseconds(20)) == [late, late])
        #expect(person.asked.count <= 1)
        await router.wait { $0.questions.count == 0 }
    }

    @Test(arguments: [true, false])
    func fileIsNotCopiedAfterAChangeDuringTheQuestion(isUnregistered: Bool) async throws {
        let router = try await router(asking: person)
        let sent = try files(1)
        async let errors = Self.send(sent, to: router)
        try await person.wait(forQuestions: 1)
        if isUnregistered {
            _ = await router.use(RegistrySnapshot(number: 1, registry: Registry(handlers: [])))
        } else {
            try await router.setRule(try PolicyPattern(urls: "file", source: "user"), .deny)
        }
        person.reply(.once)
        let code: OpenURLError.Code = isUnregistered ? .noHandler : .notAllowed
        #expect(try await errors == [code.errorName])
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/.local/share/com.example.target"))
    }

    // MARK: Texts

    private func dialog(_ url: String) async throws -> PolicyDialog {
        let person = FakePerson(always: .no)
        let router = try await router("", person: person) { manifest in
            manifest.asks = true
            manifest.name = "A <b>\u{202E}name"
        }
        _ = try await failure(open(url, router))
        return try #require(person.asked.first)
    }

    @Test func longURLKeepsItsHost() async throws {
        let long = String(repeating: "x", count: 2000)
        let url = "target://good.com:\(long)@evil.com:80/\(long)?end"
        let shown = try await dialog(url).shownURL
        #expect(shown.hasPrefix("target://...@evil.com/xxx"), "\(shown)")
        #expect(shown.hasSuffix("xxx?end"))
        #expect(shown.utf8.count < 500)
    }

    /// The end of a host says whose it is.
    @Test func longHostKeepsItsEnd() async throws {
        let host = "www.paypal.com" + String(repeating: ".a", count: 200) + ".evil.com"
        let shown = try await dialog("target://\(host)/pay").shownURL
        #expect(shown.hasPrefix("target://www.paypal.com.a") && shown.contains("[...]"), "\(shown)")
        #expect(shown.contains(".a.evil.com/pay"), "\(shown)")
    }

    @Test func textsHoldNoControls() async throws {
        let dialog = try await dialog("target:a&b")
        #expect(dialog.handler == "A (b)\\u{202E}name (com.example.target)")
        #expect(dialog.text.contains(" The program /"))
        #expect(
            dialog.text.hasPrefix("If the answer is remembered, it applies to all your programs outside sandboxes.")
        )
        #expect(DialogProgram.markup("<a href='x'>&\"") == "&lt;a href=&#39;x&#39;&gt;&amp;&quot;")
        // Another scalar may join each of them to one character.
        #expect(DialogProgram.markup("<\u{301}b>\u{D4E}<") == "&lt;\u{301}b&gt;\u{D4E}&lt;")
        let arguments = DialogProgram.zenity.arguments(dialog, .seconds(60))
        #expect(arguments.contains { $0.hasSuffix("target:a&amp;...") })
    }

    /// Every user can read the arguments of a program.
    @Test(
        arguments: [
            ("target://alice:pw-S3CRET@host/path?token=S3CRET-2#S3CRET-3", "target://...@host/path?...#..."),
            ("target:a?S3CRET", "target:a?..."), ("target://host.example/?host.example", "target://host.example/?..."),
            ("target://good.example;.evil.example/", "target://good.example;.evil.example[...]"),
            ("target://host/" + String(repeating: "x", count: 500) + "?S3CRET", "target://host[...]xxx"),
        ]
    )
    func argumentsHoldNoSecret(_ url: String, _ shown: String) async throws {
        let dialog = try await dialog(url)
        #expect(dialog.shownURL.contains("S3CRET") == url.contains("S3CRET"))
        for program in DialogProgram.all {
            let arguments = program.arguments(dialog, .seconds(60)).joined(separator: " ")
            #expect(arguments.contains(shown) && !arguments.contains("S3CRET"), "\(arguments)")
        }
    }

    @Test func programsRepliesAreRead() {
        #expect(DialogProgram.zenity.reply(.exited(status: 0), []) == .once)
        #expect(DialogProgram.zenity.reply(.exited(status: 1), ["Gtk-WARNING", "Always open"]) == .always)
        #expect(DialogProgram.zenity.reply(.exited(status: 1), []) == .no)
        #expect(DialogProgram.zenity.reply(.exited(status: 5), []) == .late)
        #expect(DialogProgram.zenity.reply(.exited(status: 1), ["cannot open display: :9"]) == nil)
        #expect(DialogProgram.zenity.reply(.signalled(11), []) == nil)
        #expect(DialogProgram.kdialog.reply(.exited(status: 0), ["always"]) == .always)
        #expect(DialogProgram.kdialog.reply(.exited(status: 0), ["?"]) == .no)
        #expect(DialogProgram.kdialog.reply(.exited(status: 1), []) == .no)
    }

    /// Otherwise, the next program would be tried.
    @Test func questionThatIsCancelledBeforeAProgramStartsHasEnded() async throws {
        let router = try await router("")
        let programs = await router.programs(in: directory.path)
        let dialog = try await dialog("target:x")
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        let asking = Task(executorPreference: bus.loop) {
            // The cancellation ends this loop.
            for await _ in never {}
            return await programs.ask(dialog, within: .seconds(3600))
        }
        asking.cancel()
        #expect(await asking.value == .late)
        end.finish()
    }
}

extension URLRouter {
    fileprivate var rememberedAnswers: Int { permissions.answers.all.count }

    /// The programs of a directory that show dialogs.
    fileprivate func programs(in directory: String) -> ProgramPerson {
        ProgramPerson(launcher: launcher, environment: ["PATH": directory])
    }

    /// The message about a URL that a rule denies.
    fileprivate func refusal(of url: PolicyURL, from source: OpenContext.Source) throws -> String {
        let rule = try #require(permissions.rule(for: url, from: source))
        let verdict = PolicyVerdict(decision: rule.decision, reason: .rule(rule))
        return permissions.refusal(verdict, of: url, to: source).message
    }

    /// Remembers an answer to the question about a URL, if an answer can be remembered.
    fileprivate func remember(_ url: String, _ isAllowed: Bool, from source: OpenContext.Source) async throws {
        let destination = try await destinations.foreseen(url, OpenOptions(), from: Caller(source))
        permissions.remember(PolicyDialog(destination, from: source, advice: ""), isAllowed)
    }
}
