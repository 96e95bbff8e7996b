import DBus
import OpenURLBus
import Testing

@testable import HostBridge

/// The bridge's tables and their bounds.
@Suite struct SentRequestsTests {
    private func host(_ name: String) throws -> HostName { try #require(HostName(rawValue: name)) }

    @Test func requestIsPublishedAgainOnlyAfterALoss() throws {
        let request = SentRequest(to: try host("a"))
        #expect(request.isDue)
        request.published()
        #expect(!request.isDue)
        request.wasLost()
        #expect(request.isDue)
        request.published()
        request.wasRefused("Not authorized")
        #expect(request.isDue && request.refusal == "Not authorized")
        request.published()
        #expect(request.refusal == nil)
    }

    /// Another member of the group would get it.
    @Test func groupsRequestIsPublishedAgainOnlyIfItWasRefused() throws {
        let request = SentRequest(to: try host("@all"))
        request.published()
        #expect(!request.wasLost() && !request.isDue)
        request.wasRefused("Not authorized")
        #expect(request.isDue)
    }

    @Test func oldRequestsAreForgotten() throws {
        var sent = SentRequests(limit: 2)
        for name in ["1", "2", "3"] { sent.remember(SentRequest(to: try host("h\(name)")), name) }
        #expect(sent["1"] == nil && sent["2"] != nil && sent["3"] != nil)
        #expect(try !sent.hasRequests(to: host("h1")) && sent.hasRequests(to: host("h2")))
        sent.remember(SentRequest(to: try host("h2")), "4")
        #expect(try sent.hasRequests(to: host("h2")))
        sent.forget("4")
        #expect(try !sent.hasRequests(to: host("h2")) && sent.all.count == 1)
    }

    @Test func outcomesAreKeptWithinABound() throws {
        var sent = SentRequests(limit: 8, keptBytes: 100)
        let (greedy, other) = (try host("greedy"), try host("other"))
        for number in 1...6 { sent.remember(SentRequest(to: greedy), "\(number)") }
        sent.remember(SentRequest(to: other), "other")
        let outcome = [UInt8](repeating: 0, count: 25)
        // A host has at most half of what the others leave.
        #expect(["1", "2", "3"].map { sent.keep(outcome, from: greedy, for: $0) } == [true, true, false])
        #expect(sent["3"]?.kept == nil)
        let hasRoom = sent.keep(outcome, from: other, for: "other")
        #expect(hasRoom && sent.keptBytes == 75)
        // An outcome is counted for as long as its request is remembered.
        sent.forget("1")
        let isKept = sent.keep(outcome, from: greedy, for: "1")
        #expect(!isKept && sent.keptBytes == 50)
        for number in 10...20 { sent.remember(SentRequest(to: other), "\(number)") }
        #expect(sent.keptBytes == 0)
    }

    @Test func hostWithoutRequestsMakesRoomForAnother() throws {
        var followed = FollowedHosts(limit: 2)
        let (a, b, c, d) = (try host("a"), try host("b"), try host("c"), try host("d"))
        let first = [a, a, b, c].map { followed.follow($0) { _ in true } }
        #expect(first == [.added, .none, .added, .none])
        #expect([true, true].map { followed.note(a, isThere: $0) } == [true, false])
        #expect(followed.isThere(a))
        let replaced = followed.follow(c) { $0 != a }
        #expect(replaced == .replaced(a) && followed.names == [b, c] && !followed.isThere(a))
        let last = followed.follow(d) { $0 != c }
        #expect(last == .replaced(c) && followed.names == [b, d])
    }

    @Test func shortOutcomeSaysThatItIsShort() throws {
        let reply: [String: Value] = ["text": .string(String(repeating: "x", count: 1000))]
        let trace = [TracePhase("ready", microseconds: 7)]
        let result = OpenResult(handler: "com.example.app", way: .launched, reply: reply, trace: trace)
        guard case .opened(let short) = OpenOutcome.opened(result).shortened else {
            Issue.record("the outcome is another one")
            return
        }
        #expect(short.handler == result.handler && short.way == result.way && short.reply.isEmpty)
        #expect(short.trace == [TracePhase("replyOmitted", microseconds: 7)])
        let error = OpenURLError(.declined, String(repeating: "x", count: 1000)).dbusError
        guard case .failed(let shortError) = OpenOutcome.failed(error).shortened else {
            Issue.record("the outcome is another one")
            return
        }
        #expect(shortError.name == error.name && shortError.message.count < 100)
    }
}
