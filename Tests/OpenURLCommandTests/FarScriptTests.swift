import Foundation
import TestSupport
import Testing

@testable import OpenURLCommand

/// The script that `openurl ssh` runs on the other machine.
@Suite(.timeLimit(.minutes(10))) struct FarScriptTests {
    /// Runs the script in a directory, and returns its answer.
    private func answer(_ variables: [String: String], in directory: String = "/") throws -> FarScript.Answer? {
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", FarScript.text(["xdg-open"])]
        process.environment = ["PATH": "/usr/bin:/bin"].merging(variables) { $1 }
        process.currentDirectoryURL = URL(filePath: directory)
        // The script ends with its input, and removes its directory.
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").first.flatMap { FarScript.Answer(String($0)) }
    }

    /// Runs the script, and returns the directory of its answer, which has been removed by now.
    private func directory(_ variables: [String: String], in directory: String = "/") throws -> String? {
        if case .place(let place) = try answer(variables, in: directory) { place.directory } else { nil }
    }

    /// The directory becomes a part of an argument of ssh, and of a socket's path.
    @Test func pathThatCannotBeUsedIsSkipped() throws {
        let parent = try TemporaryDirectory()
        let plain = try parent.makeDirectory("plain-1.0_x")
        #expect(try directory(["TMPDIR": plain])?.hasPrefix("\(plain)/openurl-") == true)
        for name in ["a b", "a+b", "a@b", "a,b", "a=b", "ä", String(repeating: "x", count: 80)] {
            let path = try parent.makeDirectory(name)
            let found = try directory(["TMPDIR": path])
            #expect(found?.hasPrefix("/tmp/openurl-") == true, "\(name): \(found ?? "none")")
            #expect(try FileManager.default.contentsOfDirectory(atPath: path) == [])
        }
        let found = try directory(["TMPDIR": "plain-1.0_x"], in: parent.path)
        #expect(found?.hasPrefix("/tmp/openurl-") == true, "\(found ?? "none")")
    }

    @Test func longestPathIsAPlace() throws {
        let parent = try TemporaryDirectory()
        let longest = try parent.makeDirectory(String(repeating: "x", count: 72 - parent.path.utf8.count - 1))
        #expect(try directory(["TMPDIR": longest])?.utf8.count == 89)
        let longer = try parent.makeDirectory(String(repeating: "x", count: 73 - parent.path.utf8.count - 1))
        #expect(try directory(["TMPDIR": longer])?.hasPrefix("/tmp/openurl-") == true)
    }

    /// The variable `d` of the session is not the directory.
    @Test func machineWithoutADirectoryAnswersToo() throws {
        let parent = try TemporaryDirectory()
        try parent.write("kept", to: "d/file")
        #expect(try answer(["PATH": "/nonexistent", "d": "\(parent.path)/d"]) == .noPlace)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(parent.path)/d") == ["file"])
    }

    @Test(arguments: [
        "openurl-far x86_64 /tmp/a b no", "openurl-far x86_64 /tmp/a+b no", "openurl-far", "openurl-far none",
        "openurl-far x86_64 tmp/a no",
    ])
    func lineOfTheScriptIsAlwaysAnAnswer(_ line: String) {
        #expect(FarScript.Answer(line) == .noPlace)
    }

    @Test func otherLinesAreNoAnswer() {
        #expect(FarScript.Answer("Welcome to openurl-far") == nil)
        #expect(FarScript.Answer("") == nil)
    }
}
