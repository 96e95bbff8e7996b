import OpenURLBus
import Testing

@testable import DBus

/// Words that another version of the router may extend.
@Suite struct ReportedTests {
    @Test(arguments: HandlerState.allCases) func aKnownWordIsKnown(state: HandlerState) throws {
        let reported = Reported<HandlerState>(rawValue: state.rawValue)
        #expect(reported == .known(state))
        #expect(reported.known == state)
        #expect(reported.description == state.rawValue)
        #expect(try recoded(reported) == reported)
        #expect(try recoded(reported, as: String.self) == state.rawValue)
    }

    @Test(arguments: ["", "asleep", "Active", "active "]) func anyOtherWordKeepsItsText(word: String) throws {
        let reported = Reported<HandlerState>(rawValue: word)
        #expect(reported == .unknown(word))
        #expect(reported.known == nil)
        #expect(try recoded(word, as: Reported<HandlerState>.self) == reported)
    }

    @Test func aListWithAnUnknownWordIsRead() throws {
        let entries: [[String: Value]] = [
            ["id": "a", "kind": "teleport", "state": "asleep"], ["id": "b", "kind": "native", "state": "active"],
        ]
        let handlers = try recoded(entries, as: [HandlerEntry].self)
        #expect(handlers.map(\.kind) == [.unknown("teleport"), .known(.native)])
        #expect(handlers.map(\.state) == [.unknown("asleep"), .known(.active)])
        let statuses = try recoded(entries, as: [HandlerStatus].self)
        #expect(statuses.map(\.state) == [.unknown("asleep"), .known(.active)])
        let explanation: Explanation = try recoded(["transport": "teleport", "state": "asleep"] as [String: Value])
        #expect(explanation.transport == .unknown("teleport"))
        #expect(explanation.state == .unknown("asleep"))
    }
}
