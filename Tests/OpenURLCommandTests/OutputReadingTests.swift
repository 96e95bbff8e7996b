import DBus
import Foundation
import Glibc
import OpenURLBus
import Testing

@testable import OpenURLCommand
@testable import URLOpener

/// The file of a handler's output, and how a terminal shows it.
@Suite struct OutputReadingTests {
    private let directory: URL
    private var path: String { directory.appending(path: "app.log").path }

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "openurl-output-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    private func write(_ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    private func append(_ text: String) throws {
        let file = try #require(FileHandle(forWritingAtPath: path))
        defer { #expect(throws: Never.self) { try file.close() } }
        try file.seekToEnd()
        try file.write(contentsOf: Data(text.utf8))
    }

    private func read(_ file: inout HandlerOutputFile, last count: Int? = nil) throws -> String {
        var bytes: [UInt8] = []
        try file.read(last: count) {
            bytes += $0
            return true
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        arguments: [
            ("a\nb\nc\n", nil, "a\nb\nc\n"), ("a\nb\nc\n", 2, "b\nc\n"), ("a\nb\nc", 2, "b\nc"),
            ("a\nb\nc\n", 3, "a\nb\nc\n"),
            ("a\nb\nc\n", 9, "a\nb\nc\n"), ("a\n\n\n", 2, "\n\n"), ("a\nb\n", 0, ""), ("", 5, ""), ("a", 1, "a"),
            ("\n", 1, "\n"),
        ] as [(String, Int?, String)]
    )
    func lastLinesAreRead(text: String, count: Int?, expected: String) throws {
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        try write(text)
        var file = HandlerOutputFile(path)
        #expect(try read(&file, last: count) == expected)
        #expect(try read(&file) == "")
    }

    @Test func lastLinesOfALargeFileAreRead() throws {
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        let lines = (0..<40_000).map { "line \($0)\n" }
        try write(lines.joined())
        var file = HandlerOutputFile(path)
        #expect(try read(&file, last: 20_000) == lines.suffix(20_000).joined())
        var whole = HandlerOutputFile(path)
        #expect(try read(&whole) == lines.joined())
    }

    @Test func laterLinesFollow() throws {
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        var file = HandlerOutputFile(path)
        #expect(try read(&file, last: 1) == "")
        try write("a\nb\n")
        // The file is new since the first call, so all of its lines are.
        #expect(try read(&file, last: 0) == "a\nb\n")
        try append("c")
        try append("d\n")
        #expect(try read(&file, last: 0) == "cd\n")
        // The router empties a large file.
        #expect(truncate(path, 0) == 0)
        #expect(try read(&file, last: 0) == "")
        try append("e\n")
        #expect(try read(&file, last: 0) == "e\n")
        // The person removes it, and the next process makes it again.
        try FileManager.default.removeItem(atPath: path)
        #expect(try read(&file, last: 0) == "")
        try write("new\nfile\n")
        #expect(try read(&file, last: 0) == "new\nfile\n")
    }

    @Test func onlyAFileIsRead() throws {
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        #expect(mkfifo(path, 0o600) == 0)
        var file = HandlerOutputFile(path)
        #expect(throws: (any Error).self) { try read(&file) }
    }

    private func printed(_ pieces: [[UInt8]], isTerminal: Bool) throws -> String {
        try captured(isTerminal: isTerminal) { invocation in
            var printer = OutputPrinter(invocation.output)
            for piece in pieces {
                let isRead = printer.print(piece[...])
                #expect(isRead)
            }
            printer.end()
            return 0
        }.output
    }

    @Test func savedReplyOnATerminalHasNoControls() throws {
        let result = OpenResult(handler: "com.acme.app", way: .active, reply: ["k": "a\u{1B}[2J"], trace: [])
        let run = try captured(isTerminal: true) { invocation in
            try result.save(SavedValue(KeyedFile(key: "k", path: nil)), invocation.output, until: nil)
            return 0
        }
        #expect(run.output == "a\\u{1B}[2J\n")
    }

    /// A handler that never closes the pipe in its reply, and one that answers with an endless file.
    @Test func savingEndsWithTheTimeLimit() throws {
        let pipe = Pipe()
        let endless = open("/dev/zero", O_RDONLY | O_CLOEXEC)
        try #require(endless >= 0)
        for file in [dup(pipe.fileHandleForReading.fileDescriptor), endless] {
            let reply = ["k": Value.unixFD(UnixFD(owning: file))]
            let result = OpenResult(handler: "com.acme.app", way: .active, reply: reply, trace: [])
            let saved = try SavedValue(KeyedFile(key: "k", path: "/dev/null"))
            let error = #expect(throws: CommandFailure.self) {
                _ = try captured { invocation in
                    try result.save(saved, invocation.output, until: .now + .milliseconds(50))
                    return 0
                }
            }
            #expect(error?.name == "org.openurl.Error.TimedOut")
        }
    }

    @Test func terminalGetsNoControls() throws {
        let pieces = ["a\u{1B}[2J\tb\r\nc", "\u{202E}d"].map { Array($0.utf8) }
        #expect(try printed(pieces, isTerminal: true) == "a\\u{1B}[2J\tb\\u{D}\nc\\u{202E}d\n")
        #expect(try printed(pieces, isTerminal: false) == "a\u{1B}[2J\tb\r\nc\u{202E}d")
    }

    @Test func charactersMayComeInPieces() throws {
        let bytes = Array("ü€😀\u{9B}x\n".utf8)
        let pieces = bytes.map { [$0] }
        #expect(try printed(pieces, isTerminal: true) == "ü€😀\\u{9B}x\n")
        // Bytes that are no character do not wait for more.
        #expect(try printed([[0xC3], [0x28, 0x0A]], isTerminal: true) == "\u{FFFD}(\n")
        #expect(try printed([[0xE2, 0x82]], isTerminal: true) == "\u{FFFD}\n")
        #expect(try printed([[0xFF, 0x80, 0x80, 0x80]], isTerminal: true).hasPrefix("\u{FFFD}"))
    }
}
