internal import DequeModule
internal import OpenURLBus
internal import Policy
internal import Reactor

/// Questions to the user, one at a time.
///
/// If several requests have the same question, they wait for one reply. This belongs to the router's actor.
final class Questions {
    private final class Waiting {
        let dialog: PolicyDialog
        /// Requests that wait for the reply, in order.
        var places: [Place] = []
        /// Whether the dialog is being closed, because no request is waiting for the reply any longer.
        var isWithdrawn = false

        init(_ dialog: PolicyDialog) {
            self.dialog = dialog
        }
    }

    fileprivate enum Outcome {
        case reply(PersonReply)
        case nobody
        case ended
        case withdrawn
    }

    /// A request that asks a question.
    final class Place {
        fileprivate var continuation: CheckedContinuation<Outcome, Never>?
        fileprivate var isWithdrawn = false
    }

    private let person: any PersonAsking
    private let permissions: Permissions
    private let limits: RouterLimits
    private let tasks: RouterTasks
    private var current: Waiting?
    /// Task that asks the current question.
    private var asking: Task<Void, Never>?
    private var waiting: Deque<Waiting> = []
    private var hasEnded = false

    init(_ person: any PersonAsking, _ permissions: Permissions, _ limits: RouterLimits, _ tasks: RouterTasks) {
        self.person = person
        self.permissions = permissions
        self.limits = limits
        self.tasks = tasks
    }

    /// Number of questions that have no reply yet.
    var count: Int { waiting.count + (current == nil ? 0 : 1) }

    /// Number of requests that wait for a reply.
    var waitingRequests: Int { waiting.reduce(current?.places.count ?? 0) { $0 + $1.places.count } }

    /// Asks a question, and returns only if the answer is yes.
    ///
    /// - Parameter place: The request that asks, for ``giveUp(_:)``.
    /// - Throws: `notAllowed` if the answer is no, or if there is none; `limitsExceeded` if too many questions are
    ///   waiting; `cancelled` after ``giveUp(_:)``.
    func ask(_ dialog: PolicyDialog, _ place: Place) async throws(OpenURLError) {
        let same = try question(dialog)
        let outcome: Outcome = await withCheckedContinuation { continuation in
            if hasEnded { return continuation.resume(returning: .ended) }
            if place.isWithdrawn { return continuation.resume(returning: .withdrawn) }
            place.continuation = continuation
            same.places.append(place)
            // The question may have been answered before this closure runs. It is then asked again.
            if same !== current, !waiting.contains(where: { $0 === same }) { waiting.append(same) }
            askNext()
        }
        switch outcome {
        case .reply(let reply) where reply.isYes: return
        case .reply(.late):
            throw dialog.refusal(
                "the user was asked whether to open it, and did not answer within \(limits.questionTime.inWords)"
            )
        case .reply:
            throw OpenURLError(.notAllowed, "the user was asked whether to open it, and answered no")
        case .nobody:
            throw dialog.refusal("there is no desktop or terminal on which to ask whether to open it")
        case .withdrawn:
            throw .withdrawn
        case .ended:
            throw OpenURLError(.notAllowed, "the router is exiting, so nobody can be asked; try again")
        }
    }

    /// Returns a waiting question that the same answer settles, or else a new one.
    private func question(_ dialog: PolicyDialog) throws(OpenURLError) -> Waiting {
        let all = (current.map { [$0] } ?? []) + waiting
        // URLs waiting for one answer count against their callers' limits, as all requests do.
        if let same = all.first(where: { !$0.isWithdrawn && $0.dialog.isSame(as: dialog) }) { return same }
        let count = all.count { $0.dialog.account == dialog.account }
        guard count < limits.questionsPerAccount, all.count < limits.questions else {
            throw OpenURLError(
                .limitsExceeded,
                "\(count) questions about URLs of this program are already waiting for an answer"
            )
        }
        return Waiting(dialog)
    }

    private func askNext() {
        guard current == nil, let next = waiting.popFirst() else { return }
        // In the meantime, an answer may have arrived that also applies to this question.
        if next.dialog.isMemorable, let remembered = permissions.answers[next.dialog.key] {
            end(next, .reply(remembered.isAllowed ? .once : .no))
            return askNext()
        }
        current = next
        asking = tasks.start {
            let reply = await self.person.ask(next.dialog, within: self.limits.questionTime)
            if let reply, reply.isForLater { self.permissions.remember(next.dialog, reply.isYes) }
            self.end(next, reply.map(Outcome.reply) ?? .nobody)
            self.current = nil
            self.askNext()
        }
    }

    private func end(_ question: Waiting, _ outcome: Outcome) {
        let places = question.places
        question.places = []
        for place in places { place.end(outcome) }
    }

    /// Makes a request stop waiting for the reply. If no other request is waiting for it, the question is withdrawn: it
    /// is not asked or, if it already has been, its dialog is closed.
    func giveUp(_ place: Place) {
        place.isWithdrawn = true
        for question in [current].compactMap(\.self) + waiting { question.places.removeAll { $0 === place } }
        waiting.removeAll { $0.places.isEmpty }
        if let current, current.places.isEmpty {
            current.isWithdrawn = true
            asking?.cancel()
        }
        place.end(.withdrawn)
    }

    /// Refuses every question and closes the dialog, because the router is exiting.
    func stop() {
        hasEnded = true
        if let current { end(current, .ended) }
        asking?.cancel()
        for question in waiting { end(question, .ended) }
        waiting = []
    }
}

extension Questions.Place {
    fileprivate func end(_ outcome: Questions.Outcome) {
        continuation?.resume(returning: outcome)
        continuation = nil
    }
}
