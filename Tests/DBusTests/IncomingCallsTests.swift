import Testing

@testable import DBus

/// How calls are counted, without a connection.
@Suite struct IncomingCallsTests {
    private static let sender: BusName = ":1.7"
    private static let other: BusName = ":1.8"

    /// Adds a call without a task.
    private func add(to calls: inout IncomingCalls, of sender: BusName, _ descriptors: [ReceivedDescriptor] = []) {
        let load = CallLoad(bytes: 0, descriptors: descriptors.count)
        let excess = calls.add(load, of: sender, descriptors) { _ in nil }
        #expect(excess == nil)
    }

    private func setAccount(_ account: String, of sender: BusName, in calls: inout IncomingCalls) {
        let isCounted = calls.setAccount(account, isPaced: false, of: sender)
        #expect(isCounted)
    }

    @Test func lateAnswerOfTheBusDoesNotHoldASenderThatHasLeft() {
        var calls = IncomingCalls(ConnectionLimits())
        add(to: &calls, of: Self.sender)
        calls.leave(Self.sender)
        let isAskedAgain = calls.setUnread(1 << 30, of: Self.sender)
        #expect(!isAskedAgain)
        #expect(!calls.isHeld(Self.sender))
        #expect(calls.waiting == 1)
    }

    @Test func unreadBytesMoveToANewAccount() {
        var limits = ConnectionLimits()
        limits.unreadAnswerBytes = 16 << 20
        var calls = IncomingCalls(limits)
        add(to: &calls, of: Self.sender)
        // This is less than half of the limit.
        _ = calls.setUnread(6 << 20, of: Self.sender)
        setAccount("program", of: Self.sender, in: &calls)
        #expect(!calls.isHeld(Self.sender))
        _ = calls.setUnread(12 << 20, of: Self.sender)
        #expect(calls.isHeld(Self.sender))
        setAccount("another", of: Self.sender, in: &calls)
        #expect(calls.isHeld(Self.sender))
        #expect(calls.waiting == 0)
    }

    @Test func accountKeepsTheCallsOfItsOtherSenders() {
        var calls = IncomingCalls(ConnectionLimits())
        for sender in [Self.sender, Self.other] {
            add(to: &calls, of: sender)
            setAccount("old", of: sender, in: &calls)
        }
        setAccount("new", of: Self.sender, in: &calls)
        #expect(calls.waiting == 2)
        _ = calls.setUnread(1 << 30, of: Self.other)
        #expect(calls.waiting == 1)
    }

    /// Nothing closes the descriptors of a call that starts after its sender has left.
    @Test func descriptorsOfACallThatStartsLateCountUntilItsAnswer() throws {
        var calls = IncomingCalls(ConnectionLimits())
        let pipe = try Pipe()
        add(to: &calls, of: Self.sender, [ReceivedDescriptor(descriptor: pipe.readEnd)])
        add(to: &calls, of: Self.sender)
        calls.leave(Self.sender)
        while calls.startNext() != nil {}
        calls.end(2)
        #expect(!calls.accounts.isEmpty)
        calls.end(1)
        #expect(calls.accounts.isEmpty)
        #expect(calls.isIdle && calls.senderCount == 0)
    }

    @Test func sendersWithoutCallsAreForgottenIfNothingTellsThatTheyLeave() throws {
        var calls = IncomingCalls(ConnectionLimits())
        add(to: &calls, of: Self.other)
        setAccount("program", of: Self.other, in: &calls)
        for number in 2...10_000 as ClosedRange<UInt64> {
            add(to: &calls, of: try #require(BusName(":2.\(number)")))
            while calls.startNext() != nil {}
            calls.end(number)
        }
        #expect(calls.senderCount <= 256)
        // The sender with a call is still known.
        setAccount("another", of: Self.other, in: &calls)
        calls.learnsWhoLeaves = true
        for number in 10_001...11_000 as ClosedRange<UInt64> {
            add(to: &calls, of: try #require(BusName(":3.\(number)")))
            while calls.startNext() != nil {}
            calls.end(number)
        }
        #expect(calls.senderCount > 1000)
    }
}
