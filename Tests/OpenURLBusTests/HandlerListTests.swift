import Testing

@testable import DBus
@testable import OpenURLBus

/// A list of handlers that is too large for a message.
@Suite struct HandlerListTests {
    private static func entry(_ number: Int) -> HandlerEntry {
        var entry = HandlerEntry(
            id: "com.example.handler\(number)",
            name: "Handler \(number)",
            executable: "/usr/bin/handler",
            schemes: ["handler\(number)"],
            kind: .known(.freedesktop),
            isFixed: false,
            state: .known(.notRunning),
            warnings: [String(repeating: "x", count: 1000)]
        )
        entry.reach = .known(.everyone)
        entry.temporary = .known(.registration)
        return entry
    }

    @Test(arguments: [(10, false), (60, true), (100, true)])
    func everyHandlerIsListed(_ count: Int, _ isCut: Bool) throws {
        let listed = HandlerEntry.fitting((0..<count).map(Self.entry), into: 100_000)
        #expect(listed.map(\.id) == (0..<count).map { Self.entry($0).id })
        #expect(listed.allSatisfy { $0.isCut == isCut })
    }

    /// The estimate may be too large, but never too small for the message.
    @Test(arguments: [10, 60, 100, 1000, 100_000]) func listFitsItsBytes(_ count: Int) throws {
        let listed = HandlerEntry.fitting((0..<count).map(Self.entry), into: 100_000)
        #expect(listed.count == count || listed.count > 100)
        // The writer keeps room for the longest header.
        _ = try Message(.signal("com.example.Test1", "Test", from: "/", listed, limit: 102_100))
    }
}
