internal import DequeModule
internal import OpenURLBus
internal import Policy
internal import Reactor

/// The questions to the person who uses the computer, one at a time.
///
/// Requests with the same question wait for one reply. The object belongs to the router's actor.
final class Questions {
    private final class Waiting {
        let dialog: PolicyDialog
        var continuations: [CheckedContinuation<Outcome, Never>] = []

        init(_ dialog: PolicyDialog) {
            self.dialog = dialog
        }
    }

    private enum Outcome {
        case reply(PersonReply)
        case nobody
        case ended
    }

    private let person: any PersonAsking
    private let permissions: Permissions
    private let limits: RouterLimits
    private let tasks: RouterTasks
    private var current: Waiting?
    private var waiting: Deque<Waiting> = []
    private var hasEnded = false

    init(_ person: any PersonAsking, _ permissions: Permissions, _ limits: RouterLimits, _ tasks: RouterTasks) {
        self.person = person
        self.permissions = permissions
        self.limits = limits
        self.tasks = tasks
    }

    /// The number of questions that have no reply yet.
    var count: Int { waiting.count + (current == nil ? 0 : 1) }

    /// Asks a question, and returns when the answer is yes.
    ///
    /// - Throws: `notAllowed` if the answer is no, or if there is none; `limitsExceeded` if too many questions wait.
    func ask(_ dialog: PolicyDialog) async throws(OpenURLError) {
        let same = try place(for: dialog)
        let outcome: Outcome = await withCheckedContinuation { continuation in
            if hasEnded { return continuation.resume(returning: .ended) }
            same.continuations.append(continuation)
            // The question may have got its reply on the way to here, and is asked again then.
            if same !== current, !waiting.contains(where: { $0 === same }) { waiting.append(same) }
            askNext()
        }
        switch outcome {
        case .reply(let reply) where reply.isYes: return
        case .reply(.late):
            throw dialog.refusal(
                "there was no answer to the question whether to open it within \(limits.questionTime.inWords)"
            )
        case .reply:
            throw OpenURLError(.notAllowed, "the answer to the question whether to open it was no")
        case .nobody:
            throw dialog.refusal("there is no desktop or terminal to ask whether to open it")
        case .ended:
            throw OpenURLError(.notAllowed, "the router is ending, and nobody can be asked; try again")
        }
    }

    /// The question with the same answer that waits already, or a new one.
    private func place(for dialog: PolicyDialog) throws(OpenURLError) -> Waiting {
        let all = (current.map { [$0] } ?? []) + waiting
        // The URLs that wait for one answer are counted to their callers, as all requests are.
        if let same = all.first(where: { $0.dialog.isSame(as: dialog) }) { return same }
        let count = all.count { $0.dialog.account == dialog.account }
        guard count < limits.questionsPerAccount, all.count < limits.questions else {
            throw OpenURLError(
                .limitsExceeded,
                "\(count) questions about URLs of this program wait for an answer already"
            )
        }
        return Waiting(dialog)
    }

    private func askNext() {
        guard current == nil, let next = waiting.popFirst() else { return }
        current = next
        tasks.start {
            // An answer may have come meanwhile that holds for this question, too.
            let remembered = next.dialog.isMemorable ? self.permissions.answers[next.dialog.key] : nil
            if let remembered {
                self.end(next, .reply(remembered.isAllowed ? .once : .no))
                self.current = nil
                return self.askNext()
            }
            let reply = await self.person.ask(next.dialog, within: self.limits.questionTime)
            if let reply, reply.isForLater { self.permissions.remember(next.dialog, reply.isYes) }
            self.end(next, reply.map(Outcome.reply) ?? .nobody)
            self.current = nil
            self.askNext()
        }
    }

    private func end(_ question: Waiting, _ outcome: Outcome) {
        let continuations = question.continuations
        question.continuations = []
        for continuation in continuations { continuation.resume(returning: outcome) }
    }

    /// Refuses every question, because the router ends.
    func stop() {
        hasEnded = true
        if let current { end(current, .ended) }
        for question in waiting { end(question, .ended) }
        waiting = []
    }
}
