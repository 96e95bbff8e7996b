import Synchronization
import TestSupport
import Testing

@testable import URLRouter

/// A person whose replies the test gives.
final class FakePerson: PersonAsking {
    private struct Content {
        var asked: [PolicyDialog] = []
        var reply: CheckedContinuation<PersonReply?, Never>?
        /// The replies to all questions, without a wait for the test.
        var standing: PersonReply??
    }

    private let content = Mutex(Content())

    /// - Parameter reply: the reply to every question; without it the test replies to each question.
    init() {}

    /// A person who replies to every question in the same way; nil is nobody.
    init(always reply: PersonReply?) {
        content.withLock { $0.standing = .some(reply) }
    }

    /// The questions so far.
    var asked: [PolicyDialog] { content.withLock { $0.asked } }

    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<PersonReply?, Never>) in
                let standing = content.withLock { content -> PersonReply?? in
                    content.asked.append(dialog)
                    if content.standing == nil { content.reply = continuation }
                    return content.standing
                }
                if let standing { return continuation.resume(returning: standing) }
                // An earlier cancel found no question to end.
                if Task.isCancelled { reply(.late) }
            }
        } onCancel: {
            reply(.late)
        }
    }

    /// Returns when there were as many questions.
    func wait(forQuestions count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await eventually(asked, sourceLocation: sourceLocation) { $0.count >= count }
    }

    /// Replies to the question that is asked.
    func reply(_ reply: PersonReply?) {
        let continuation = content.withLock { content in
            defer { content.reply = nil }
            return content.reply
        }
        continuation?.resume(returning: reply)
    }
}
