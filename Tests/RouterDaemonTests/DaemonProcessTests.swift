import Foundation
import OpenURLBus
import Release
import Testing

@testable import RouterDaemon

/// The daemon's command line, environment and installation.
@Suite struct DaemonProcessTests {
    @Test func startsWithoutArgumentsOnly() {
        #expect(CommandLineAnswer([]) == nil)
        let version = CommandLineAnswer(["--version"])
        #expect(version?.text == "openurld \(Version.current)\n")
        #expect(version?.descriptor == 1)
        #expect(version?.status == 0)
        let wrong = [
            ["--help"], ["--version", "x"], [""], ["--publish"], ["--publish", "share"], ["--publish", "/a", "/b"],
            ["--publish", "/a", "--root"], ["--publish", "/a", "--root", "b"], ["--doctor", "x"],
            ["--doctor", "--command"], ["--intents", "x"], ["--intents", "--scope", "x"],
        ]
        for arguments in wrong {
            let answer = CommandLineAnswer(arguments)
            #expect(answer?.text.hasPrefix("usage: openurld [--version | --publish directory") == true)
            #expect(answer?.descriptor == 2)
            #expect(answer?.status == 64)
        }
    }

    @Test func pathInAnAnswerHasNoControls() throws {
        for arguments in [["--publish", "/no\u{1B}[2J\u{202E}where"], ["--publish", "/x", "--root", "/no\u{7}where"]] {
            let text = try #require(CommandLineAnswer(arguments)?.text)
            #expect(text.hasPrefix("openurl: ") && text.hasSuffix("\n"))
            #expect(text.dropLast().unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E }, "\(text)")
        }
    }

    @Test func readsTheEnvironment() {
        let texts: [[UInt8]] = [
            Array("A=1".utf8), Array("EMPTY=".utf8), Array("EQUALS=a=b".utf8), Array("none".utf8),
            Array("BAD=".utf8) + [0xFF], Array("Ü=ü".utf8),
        ]
        var entries: [UnsafeMutablePointer<CChar>?] = texts.map { strdup(($0 + [0]).map { CChar(bitPattern: $0) }) }
        defer { for entry in entries { free(entry) } }
        entries.append(nil)
        let variables = entries.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { ProcessEnvironment.variables($0) }
        }
        #expect(variables == ["A": "1", "EMPTY": "", "EQUALS": "a=b", "Ü": "ü"])
    }

    @Test func findsTheFilesBesideTheProgram() throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "installation-\(UUID().uuidString)")
        let bin = root.appending(path: "bin")
        try FileManager.default.createDirectory(at: bin, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: root) } }
        let installation = Installation(program: bin.appending(path: "openurld").path)
        #expect(installation.handlers == "\(root.path)/share/openurl/handlers")
        #expect(installation.command == nil)
        let command = bin.appending(path: "openurl")
        try Data().write(to: command)
        // A file that cannot be executed is not the command. Root may execute a file that has one execute bit.
        #expect(installation.command == nil)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: command.path)
        #expect(installation.command == command.path)
    }

    @Test func findsItsOwnProgram() throws {
        let installation = try #require(Installation())
        #expect(installation.program == URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path)
    }
}
