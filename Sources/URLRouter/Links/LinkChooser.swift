internal import DBus
internal import Desktop
internal import Glibc
internal import Links
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry
internal import UserFiles

/// Lets the person choose a program for a link, with the program `openurl-chooser`.
///
/// There is one window at a time, and links wait for it in the order of their arrival. This belongs to the router's
/// actor.
final class LinkChooser {
    /// A program that the person can choose.
    struct Candidate: Sendable {
        let entry: DesktopEntry
        /// The browser's profile; nil for the usual one.
        let profile: BrowserProfile?
    }

    /// A link for which a program is to be chosen.
    struct Question: Sendable {
        let url: GenericURL
        /// The site for which the choice can be remembered; nil if no rule can name it.
        let site: LinkPattern.Site?
        let source: OpenContext.Source
        let account: String
        /// The token with which the window may take the focus; nil if there is none.
        let token: String?
        let candidates: [Candidate]
    }

    /// The links to which a choice applies.
    enum Scope: String, Sendable {
        case no
        case site
        case sender
    }

    /// The person's choice.
    struct Choice: Sendable, Hashable {
        /// The index of the candidate.
        let candidate: Int
        let scope: Scope
        let isPrivate: Bool
        /// The token with which the chosen program may take the focus; nil if there is none.
        let token: String?
    }

    /// Maximum number of programs to choose from.
    static let maximumCandidates = 64
    /// Maximum size of the program's answer, in bytes.
    static let maximumSize = 64 << 10

    private let launcher: HandlerLauncher
    /// The path of `openurl-chooser`; nil if it is unknown.
    private let program: String?
    private let limits: RouterLimits
    private let tasks: RouterTasks
    /// The link whose window is open.
    private var current: Place?
    private var waiting: [Place] = []
    private var hasEnded = false
    private var accounts: [String: Int] = [:]

    /// A link that waits for the person's choice.
    final class Place {
        fileprivate var turn: CheckedContinuation<Void, Never>?
        fileprivate var asking: Task<Void, Never>?
        fileprivate var isWithdrawn = false

        /// Makes the link stop waiting. Its window is closed.
        func withdraw() {
            isWithdrawn = true
            takeTurn()
            asking?.cancel()
        }

        fileprivate func takeTurn() {
            turn?.resume()
            turn = nil
        }
    }

    init(_ launcher: HandlerLauncher, program: String?, _ limits: RouterLimits, _ tasks: RouterTasks) {
        self.launcher = launcher
        self.program = program
        self.limits = limits
        self.tasks = tasks
    }

    /// Asks the person.
    ///
    /// - Parameter place: the link that waits, for ``Place/withdraw()``.
    /// - Throws: `ended` if the person closed the window, or if the link was withdrawn; `unusable` if the person could not
    ///   be asked.
    func ask(_ question: Question, _ place: Place) async throws(LinkFailure) -> Choice {
        guard let program, access(program, X_OK) == 0 else { throw .unusable("openurl-chooser is not installed") }
        let count = accounts[question.account, default: 0]
        guard count < limits.questionsPerAccount else {
            throw .unusable("\(count) links of this program are already waiting for the chooser")
        }
        guard waiting.count < limits.questions else {
            throw .unusable("\(waiting.count) links are already waiting for the chooser")
        }
        accounts[question.account] = count + 1
        defer { accounts[question.account] = accounts[question.account].flatMap { $0 > 1 ? $0 - 1 : nil } }
        try await waitForTurn(place)
        defer { passTurnOn() }
        await launcher.session.startUpdate()?.value
        try check(place)
        guard launcher.hasDisplay else { throw .unusable("there is no display for the chooser") }
        return try await choice(program, question, place)
    }

    private func waitForTurn(_ place: Place) async throws(LinkFailure) {
        if current == nil { current = place }
        if current !== place {
            await withCheckedContinuation { continuation in
                // The other link may have been decided before this closure runs.
                if current == nil { current = place }
                guard current !== place, !place.isWithdrawn else { return continuation.resume() }
                place.turn = continuation
                waiting.append(place)
            }
            waiting.removeAll { $0 === place }
        }
        do throws(LinkFailure) {
            try check(place)
        } catch {
            // It may have been this link's turn already.
            if current === place { passTurnOn() }
            throw error
        }
    }

    /// Gives the turn to the link that has waited longest. No later one can take it before that one continues.
    private func passTurnOn() {
        current = waiting.isEmpty ? nil : waiting.removeFirst()
        current?.takeTurn()
    }

    private func check(_ place: Place) throws(LinkFailure) {
        if hasEnded { throw .unusable("the router is exiting") }
        if place.isWithdrawn { throw .ended(.withdrawn) }
    }

    /// Closes the window, and makes no link wait any longer.
    func stop() {
        hasEnded = true
        for place in waiting { place.withdraw() }
        current?.withdraw()
    }

    private func choice(_ program: String, _ question: Question, _ place: Place) async throws(LinkFailure) -> Choice {
        let environment = launcher.environment
        let text = question.text(locale: Self.locale(environment))
        let ended: Result<AnsweringProgram.Result?, ProgramStart.Failure> = await withCheckedContinuation {
            continuation in
            // Other jobs of the loop may run before this closure.
            if place.isWithdrawn || hasEnded { return continuation.resume(returning: .success(nil)) }
            place.asking = tasks.start {
                do throws(ProgramStart.Failure) {
                    let result = try await AnsweringProgram(self.launcher).run(
                        "openurl-chooser",
                        .path(program),
                        [program],
                        environment: environment,
                        input: text,
                        // Under Wayland, its window stays until the chosen program has the focus.
                        answersBeforeExit: true,
                        limit: Self.maximumSize,
                        within: self.limits.questionTime
                    )
                    continuation.resume(returning: .success(result))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        place.asking = nil
        try check(place)
        let result: AnsweringProgram.Result
        switch ended {
        case .success(let some?): result = some
        case .success(nil): throw .unusable("nobody chose a program within \(limits.questionTime.inWords)")
        case .failure(let failure): throw .unusable("the chooser cannot be started: \(failure)")
        }
        switch result.exit {
        case .exited(status: 0):
            guard let choice = Choice(result.output, among: question.candidates.count) else {
                throw .unusable("the chooser's answer cannot be read")
            }
            return choice
        case .exited(status: 1):
            throw .ended(OpenURLError(.notAllowed, "the user was asked how to open the link, and closed the window"))
        default: throw .unusable("the chooser \(result.exit)")
        }
    }

    private static func locale(_ environment: [String: String]) -> String {
        ["LC_ALL", "LC_MESSAGES", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    }
}

extension LinkChooser.Question {
    /// The question as the chooser reads it: a key file.
    func text(locale: String) -> String {
        var lines = ["[Link]"]
        func add(_ key: String, _ value: String) { lines.append("\(key)=\(KeyFileText.string(value))") }
        add("URL", url.description)
        add("Host", site?.host ?? "")
        add("Source", source.words)
        add("SourceID", source.application ?? source.program ?? "")
        add("Token", token ?? "")
        add("Locale", locale)
        for (index, candidate) in candidates.enumerated() {
            lines.append("[Candidate \(index + 1)]")
            add("ID", candidate.entry.id.rawValue)
            add("Name", candidate.entry.name)
            add("Icon", candidate.entry.icon ?? "")
            add("Profile", candidate.profile?.id ?? "")
            add("ProfileName", candidate.profile?.name ?? "")
            add("Private", candidate.entry.privateWindowCommand == nil ? "false" : "true")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension LinkChooser.Choice {
    /// Reads the chooser's answer, a key file; nil if it is something else.
    init?(_ bytes: [UInt8], among count: Int) {
        let group = "Choice"
        let file = KeyFile(bytes, groups: [group])
        func value(_ key: String) throws(KeyFileValue.Invalid) -> String? {
            try file.values(of: key, in: group).last?.string()
        }
        do throws(KeyFileValue.Invalid) {
            guard let number = try value("Candidate").flatMap(Int.init), number >= 1, number <= count,
                let scope = LinkChooser.Scope(rawValue: try value("Remember") ?? LinkChooser.Scope.no.rawValue)
            else { return nil }
            candidate = number - 1
            self.scope = scope
            isPrivate = try file.values(of: "Private", in: group).last?.boolean() ?? false
            let token = try value("Token") ?? ""
            let isToken =
                !token.isEmpty && token.utf8.count <= 1024 && !token.unicodeScalars.contains(where: isMisleading)
            self.token = isToken ? token : nil
        } catch {
            return nil
        }
    }
}
