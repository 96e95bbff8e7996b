import Foundation
import TestSupport
import Testing

@testable import Processes

/// The program of a process, its file, and the files beside it.
@Suite struct ProcessProgramTests {
    private let own = UInt32(getpid())

    @Test(arguments: [
        ("/usr/bin/openurld (deleted)", "/usr/bin/openurld"), ("/usr/bin/openurld", "/usr/bin/openurld"),
        ("/usr/bin/(deleted)", "/usr/bin/(deleted)"), (" (deleted)", ""), ("", ""),
    ])
    func markOfTheKernelIsNoPartOfThePath(path: String, expected: String) {
        #expect(ProcessProgram.withoutMark(path) == expected)
    }

    @Test func programOfThisProcessHasOnePath() throws {
        let path = try #require(ProcessProgram.path(pid: own))
        #expect(path.hasPrefix("/") && FileManager.default.isExecutableFile(atPath: path))
        #expect(ProcessProgram.shownPath(pid: own) == path)
        #expect(ProcessProgram.file(pid: own) == path)
        #expect(!ProcessProgram.isReplaced(pid: own))
        #expect(!ProcessProgram.isHidden(pid: own))
    }

    @Test func processThatIsGoneHasNoProgram() {
        #expect(ProcessProgram.path(pid: .max) == nil)
        #expect(ProcessProgram.shownPath(pid: .max) == nil)
        #expect(ProcessProgram.file(pid: .max) == nil)
        #expect(!ProcessProgram.isReplaced(pid: .max))
        #expect(!ProcessProgram.isHidden(pid: .max))
    }

    @Test func neighbourIsInTheDirectoryOfThisProgram() throws {
        let directory = try #require(ProcessProgram.path(pid: own)).split(separator: "/").dropLast()
        let expected = directory.map { "/\($0)" }.joined() + "/neighbour"
        #expect(ProcessProgram.path(ofNeighbour: "neighbour") == expected)
        #expect(ProcessProgram.bytes(ofNeighbour: "neighbour") == Array(expected.utf8) + [0])
    }

    @Test func programWhoseFileWasRemovedIsReplaced() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        let file = directory.resolvingSymlinksInPath().appending(path: "sleeper")
        try FileManager.default.copyItem(at: URL(filePath: "/usr/bin/sleep").resolvingSymlinksInPath(), to: file)
        let process = ChildProcess()
        process.executableURL = file
        process.arguments = ["600"]
        try process.run()
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        let pid = UInt32(process.processIdentifier)
        #expect(ProcessProgram.file(pid: pid) == file.path)
        try FileManager.default.removeItem(at: file)
        #expect(ProcessProgram.path(pid: pid) == "\(file.path) (deleted)")
        #expect(ProcessProgram.path(pid: pid).map(ProcessProgram.withoutMark) == file.path)
        #expect(ProcessProgram.isReplaced(pid: pid))
        #expect(ProcessProgram.file(pid: pid) == nil)
    }
}
