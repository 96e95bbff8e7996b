import Foundation
import PrivateBus
import Reactor
import TestSupport
import Testing

@testable import DBus

// Row 15 and rows 19 to 30: messages that were sent, replies, objects, connections, match rules.
extension TrapTests {
    /// Row 15: an answer to a call without a serial (abort).
    ///
    /// The module answers only calls that have arrived, and libdbus refuses a call without a serial.
    @Test func callWithoutASerialEndsTheConnection() async throws {
        try await withPeers { listener, client, _ in
            let peer = try RawPeer(listener.address)
            try peer.authenticate()
            #expect(peer.write(RawPeer.ping(0)))
            // The connection ends without another message.
            #expect(peer.read(1) == nil)
            #expect(try await client.call(Echo.string, on: RemoteObject(nil, Echo.path), "a") == "a")
        }
    }

    /// Row 19: an addition to a message that was sent (abort).
    ///
    /// The module makes a message in the call that sends the message, and `write(to:)` cannot keep the writer. A
    /// program can send a body twice, which makes two messages.
    @Test func bodyCanBeSentTwice() async throws {
        try await withPair { (pair: Pair) async throws in
            let signals = try await pair.client.signals(Echo.played)
            let body = Arguments("twice", UInt32(2))
            for _ in 0..<2 { try await pair.service.emit(Echo.played, from: Echo.path, body) }
            var iterator = signals.makeAsyncIterator()
            for _ in 0..<2 { #expect(await iterator.next()?.body.values.1 == 2) }
        }
    }

    /// Row 20: a negative time limit (abort), and a time limit that exceeds the range of the clock.
    @Test func extremeTimeLimitsAreHandled() async throws {
        try await withPair { (pair: Pair) async throws in
            let blocking = try BlockingConnection(.address(pair.bus.address))
            for limit in [Duration.milliseconds(-5), .seconds(-5), .seconds(Int64.min)] {
                await #expect(throws: CallError.timedOut) {
                    try await pair.client.call(Echo.never, on: Echo.object, Empty(), timeout: limit)
                }
                #expect(throws: CallError.timedOut) {
                    try blocking.call(Echo.never, on: Echo.object, Empty(), timeout: limit)
                }
            }
            let longest = Duration.seconds(Int64.max)
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "a", timeout: longest) == "a")
            #expect(try blocking.call(Echo.string, on: Echo.object, "a", timeout: longest) == "a")
        }
    }

    /// Row 21: an attempt to take an answer before it has arrived (abort).
    ///
    /// A call returns its answer, so a program cannot take an answer early. The closest test is a call that the program
    /// abandons.
    @Test func abandonedCallDoesNoHarm() async throws {
        try await withPair { (pair: Pair) async throws in
            let blocking = try BlockingConnection(.address(pair.bus.address))
            await #expect(throws: CallError.timedOut) {
                try await pair.client.call(Echo.never, on: Echo.object, Empty(), timeout: .milliseconds(1))
            }
            #expect(throws: CallError.timedOut) {
                try blocking.call(Echo.never, on: Echo.object, Empty(), timeout: .milliseconds(1))
            }
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "a") == "a")
            #expect(try blocking.call(Echo.string, on: Echo.object, "a") == "a")
        }
    }

    /// Row 22: an object at a path without a leading slash (abort).
    ///
    /// An object is exported at an `ObjectPath`.
    @Test func objectPathWithoutALeadingSlashIsRefused() {
        #expect(ObjectPath(rawValue: "com/example") == nil)
    }

    /// Row 23: an object at a path with an empty element (accepted, and never found).
    @Test func objectPathWithAnEmptyElementIsRefused() {
        #expect(ObjectPath(rawValue: "/a//b") == nil)
    }

    /// Row 24: two objects at one path (refused, with a warning).
    @Test func laterExportReplacesTheSameInterface() async throws {
        try await withPair { (pair: Pair) async throws in
            let introspect = Method<Empty, String>("org.freedesktop.DBus.Introspectable", "Introspect")
            let upper = ExportedInterface(Echo.interface, [.method(Echo.string) { _, text in text.uppercased() }])
            let other = Method<Empty, String>("com.example.Other1", "Name", outputs: ["name"])
            await pair.service.export([upper], at: Echo.path)
            await pair.service.export(
                [ExportedInterface(other.interface, [.method(other) { _, _ in "b" }])],
                at: Echo.path
            )
            // A later export of the same interface replaces the earlier export. Another interface is added.
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "a") == "A")
            #expect(try await pair.client.call(other, on: Echo.object, Empty()) == "b")
            let xml = try await pair.client.call(introspect, on: Echo.object, Empty())
            #expect(xml.components(separatedBy: "<interface name=\"com.example.Echo1\">").count == 2)
        }
    }

    /// Row 25: the release of an open connection (abort).
    ///
    /// A program counts no references. A connection on a loop lives until a call closes the connection. A blocking
    /// connection closes itself.
    @Test func connectionMayBeReleasedWhileItIsOpen() async throws {
        try await withPair { (pair: Pair) async throws in
            var dropped: Connection? = try await Connection.open(.address(pair.bus.address), on: pair.client.loop)
            let name = try #require(dropped?.uniqueName)
            dropped = nil
            #expect(try await pair.client.owner(of: name) == name)
            var blocking: BlockingConnection? = try BlockingConnection(.address(pair.bus.address))
            let sender = BusName(try blocking?.call(Echo.sender, on: Echo.object, Empty()) ?? "")
            blocking = nil
            let watched = try #require(sender)
            try await eventually(await pair.client.owner(of: watched)) { $0 == nil }
        }
    }

    /// Row 26: the closing of a shared connection (abort).
    ///
    /// Each connection is private to the program that opened it.
    @Test func closingAConnectionAffectsNoOther() async throws {
        try await withPair { (pair: Pair) async throws in
            let first = try await Connection.open(.address(pair.bus.address), on: pair.client.loop)
            let second = try await Connection.open(.address(pair.bus.address), on: pair.client.loop)
            #expect(first.uniqueName != second.uniqueName)
            await first.close()
            await first.close()
            #expect(try await second.call(Echo.string, on: Echo.object, "a") == "a")
            await second.close()
        }
    }

    /// Row 27: the removal of a filter that was never added (abort).
    ///
    /// The identifier of a watch comes from the call that began the watch, and ending a watch twice is allowed. The
    /// module has no filters to remove.
    @Test func repeatedRemovalDoesNoHarm() async throws {
        try await withPair { (pair: Pair) async throws in
            let watch = try await pair.client.watchName(Echo.name) { _, _ in }
            for _ in 0..<2 { try await pair.client.unwatchName(watch) }
            await pair.service.unexport("/never/exported")
            try await pair.client.releaseName("com.example.Never")
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "a") == "a")
        }
    }

    /// Row 28: an error that is already set (abort).
    ///
    /// The errors of libdbus stay inside the module, and each call of libdbus gets a new error.
    @Test func everyFailedOpenHasItsOwnError() async throws {
        try await withPair { (pair: Pair) async throws in
            for _ in 0..<2 {
                for address in ["nonsense", "unix:path=/nonexistent"] {
                    await #expect(throws: ConnectionError.self) {
                        try await Connection.open(.address(address), on: pair.client.loop)
                    }
                    #expect(throws: ConnectionError.self) { try BlockingConnection(.address(address)) }
                }
            }
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "a") == "a")
        }
    }

    /// Row 29: a match rule that is not UTF-8 (abort).
    ///
    /// A match rule consists of names and of `String` values, as in row 0.
    @Test func matchRuleWithReplacedBytesMatches() async throws {
        try await withPair { (pair: Pair) async throws in
            let repaired = String(decoding: [0x61, 0xFF], as: UTF8.self)
            let rule = MatchRule(arguments: [0: repaired])
            var iterator = try await pair.client.signals(Echo.played, matching: rule).makeAsyncIterator()
            try await pair.service.emit(Echo.played, from: "/", Arguments(repaired, 1))
            #expect(await iterator.next()?.body.values.1 == 1)
        }
    }

    /// Row 30: a match rule with an unknown key (an error, or no effect).
    ///
    /// `MatchRule` cannot hold unknown keys and quotes its values. A rule that the bus still refuses is an error and
    /// leaves no trace.
    @Test func refusedMatchRuleIsAnError() async throws {
        try await withPair { (pair: Pair) async throws in
            let long = MatchRule(arguments: [0: String(repeating: "x", count: 2000)])
            let wrong = MatchRule(arguments: [64: "x"])
            for (rule, name) in [
                (long, ErrorName.limitsExceeded), (wrong, "org.freedesktop.DBus.Error.MatchRuleInvalid"),
            ] {
                do throws(CallError) {
                    _ = try await pair.client.signals(Echo.played, matching: rule)
                    Issue.record("\(rule) was accepted")
                } catch {
                    guard case .remote(let error) = error else { throw error }
                    #expect(error.name == name)
                }
            }
            await #expect(throws: CallError.notSent(.nulInString)) {
                try await pair.client.signals(Echo.played, matching: MatchRule(arguments: [0: "\0"]))
            }
            await pair.client.turn()
            #expect(await pair.client.matches.rules.isEmpty)
            let key = "x',bogus='1"
            var iterator = try await pair.client.signals(Echo.played, matching: MatchRule(arguments: [0: key]))
                .makeAsyncIterator()
            try await pair.service.emit(Echo.played, from: "/", Arguments(key, 1))
            #expect(await iterator.next()?.body.values.1 == 1)
        }
    }
}
