import Foundation
import Logging
import Synchronization
import Testing

@testable import RouterDaemon

@Suite struct LineLogHandlerTests {
    @Test func lineHasThePriorityOfItsLevelAndNoTime() {
        let lines = Lines()
        var logger = Logger(label: "test") { _ in LineLogHandler(.journal) { line in lines.append(line) } }
        logger.logLevel = .trace
        for level in Logger.Level.allCases { logger.log(level: level, "\(level)") }
        #expect(
            lines.all == [
                "<7>trace\n", "<7>debug\n", "<6>info\n", "<5>notice\n", "<4>warning\n", "<3>error\n", "<2>critical\n",
            ]
        )
    }

    @Test func metadataComesBeforeTheMessage() {
        let lines = Lines()
        var logger = Logger(label: "test") { _ in LineLogHandler(.journal) { line in lines.append(line) } }
        logger[metadataKey: "own"] = "1"
        logger.warning("ended", metadata: ["pid": "7", "handler": "com.example.app"])
        logger.debug("left out")
        #expect(lines.all == ["<4>handler=com.example.app own=1 pid=7 ended\n"])
    }

    @Test func lineOfTextHasATimeAndALabel() throws {
        let lines = Lines()
        let logger = Logger(label: "test") { label in LineLogHandler(.text(label: label)) { lines.append($0) } }
        logger.warning("ended", metadata: ["pid": "7", "handler": "com.example.app"], source: "URLRouter")
        logger.info("ready", source: "RouterDaemon")
        let texts = lines.all.map { $0.split(separator: " ", maxSplits: 1) }
        #expect(texts.allSatisfy { $0[0].count == "2026-11-22T15:01:36+0000".count })
        #expect(
            texts.map { $0[1] } == [
                "warning test: handler=com.example.app pid=7 [URLRouter] ended\n", "info test: [RouterDaemon] ready\n",
            ]
        )
    }

    @Test func streamIsKnownByItsDeviceAndInode() throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        var status = stat()
        try #require(fstat(descriptor, &status) == 0)
        #expect(LineLogHandler.isStream("\(status.st_dev):\(status.st_ino)", descriptor))
        // A person may have redirected the standard error of a process that systemd started.
        for stream in [nil, "", "\(status.st_dev):\(status.st_ino + 1)", "\(status.st_ino)"] {
            #expect(!LineLogHandler.isStream(stream, descriptor))
        }
        #expect(!LineLogHandler.isStream("0:0", -1))
    }
}

private final class Lines: Sendable {
    private let state = Mutex<[String]>([])

    var all: [String] { state.withLock { $0 } }

    func append(_ line: String) { state.withLock { $0.append(line) } }
}
