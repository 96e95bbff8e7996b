import Glibc
import Testing

@testable import URLRouter

/// The commands that the router's callers descend from.
struct CommandHopsTests {
    private let session = getsid(0)
    private let process = UInt32(getpid())
    private let period = Duration.seconds(3600)

    @Test func processInTheCommandsSessionDescendsFromTheCommand() {
        let hops = CommandHops(for: period)
        #expect(hops[process] == nil)
        hops.add(session, hops: 3)
        #expect(hops[process] == 3)
        #expect(hops[UInt32.max] == nil)
        #expect(hops[UInt32(Int32.max)] == nil)
    }

    @Test func oldCommandDoesNotCount() {
        let hops = CommandHops(for: period)
        hops.add(session, hops: 3, now: .now - period)
        #expect(hops[process] == nil)
    }

    @Test func reusedSessionStandsForTheLastCommand() {
        let hops = CommandHops(for: period)
        hops.add(session, hops: 3, now: .now - period)
        hops.add(session, hops: 1)
        #expect(hops[process] == 1)
        hops.add(session, hops: 2)
        #expect(hops[process] == 2)
        hops.add(session + 1, hops: 0, now: .now + period * 2)
        #expect(hops[process] == nil)
    }
}
