import Testing

@testable import DBus

/// Names that a message shares with the one before.
@Suite struct RecentNamesTests {
    private let recent = RecentNames()

    private func read(_ path: ObjectPath, _ interface: InterfaceName, _ member: MemberName) throws -> Message {
        let object = RemoteObject(nil, path)
        let written = try WrittenMessage.methodCall(interface, member, on: object, Empty(), limit: 1 << 20)
        return try Message(ByteBuffer(written.bytes), recent) { _ in [] }
    }

    @Test func eachMessageHasItsOwnNames() throws {
        let calls: [(ObjectPath, InterfaceName, MemberName)] = [
            ("/a", "a.b", "C"), ("/a", "a.b", "C"), ("/b", "a.b", "D"), ("/a/b", "a.bc", "D"), ("/a", "a.b", "DD"),
        ]
        for (path, interface, member) in calls {
            let message = try read(path, interface, member)
            #expect(message.isValid)
            #expect(message.path == path)
            #expect(message.interface == interface)
            #expect(message.member == member)
        }
    }

    /// A path may be as long as a message, and would use memory until the next message.
    @Test func longPathIsNotKept() throws {
        let long = try #require(ObjectPath("/" + String(repeating: "p", count: 300)))
        #expect(try read("/a", "a.b", "C").path == "/a")
        #expect(try read(long, "a.b", "C").path == long)
        #expect(recent.inCalls.path == "/a")
    }
}
