import OpenURLBus
import RFC1808
import Relay
import Testing

@Suite struct RelayReplyTests {
    @Test func repliesAreLines() throws {
        #expect(RelayReply.opened.line == "opened\n")
        #expect(RelayReply.openedWaiting.line == "opened-waiting\n")
        #expect(RelayReply.callback(try GenericURL("myapp://auth?code=1")).line == "callback myapp://auth?code=1\n")
        #expect(RelayReply.canOpen(true).line == "yes\n" && RelayReply.canOpen(false).line == "no\n")
        #expect(RelayReply(OpenURLError(.notAllowed, "no")).line == "failed 7 no\n")
    }

    @Test func messagesStayInTheirLine() {
        let line = RelayReply.failed(3, "a\nopened\r\u{1B}[2J\u{202E}\u{E4}" + String(repeating: "x", count: 5000)).line
        #expect(line.utf8.count { $0 == UInt8(ascii: "\n") } == 1 && line.hasSuffix("\n"))
        #expect(line.utf8.dropLast().allSatisfy { (0x20...0x7E).contains($0) })
        #expect(line.utf8.count < 1100)
    }
}
