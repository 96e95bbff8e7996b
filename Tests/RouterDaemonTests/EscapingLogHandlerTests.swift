import Logging
import Testing

@testable import RouterDaemon

@Suite struct EscapingLogHandlerTests {
    private let log = RecordedLog()
    private let hostile = "a\u{1B}[31m\n2026-01-01T00:00:00+0000 error openurld: forged\u{202E}\u{9B}\u{2028}\u{E9}"
    private let escaped =
        #"a\u{1B}[31m\n2026-01-01T00:00:00+0000 error openurld: forged\u{202E}\u{009B}\u{2028}"# + "\u{E9}"

    @Test func messageAndMetadataStayOnOneLine() {
        let inner = log.logger.handler
        let logger = Logger(label: "test") { _ in EscapingLogHandler(inner) }
        logger.warning("\(hostile)", metadata: ["text": "\(hostile)", "list": ["\(hostile)"]])
        #expect(log.entries.map(\.text) == [escaped])
        #expect(log.entries.first?.metadata["text"] == escaped)
        #expect(log.entries.first?.metadata["list"]?.contains("\n") == false)
    }

    @Test func entryOfPlainTextStaysAsItIs() {
        let inner = log.logger.handler
        var logger = Logger(label: "test") { _ in EscapingLogHandler(inner) }
        logger.logLevel = .warning
        logger.info("left out")
        logger.warning("plain", metadata: ["key": "1"])
        #expect(log.entries == [RecordedLog.Entry(level: .warning, text: "plain", metadata: ["key": "1"])])
    }
}
