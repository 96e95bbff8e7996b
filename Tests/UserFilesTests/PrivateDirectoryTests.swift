import FoundationEssentials
import Glibc
import TestSupport
import Testing
import UserFiles

@Suite(.timeLimit(.minutes(1))) struct PrivateDirectoryTests {
    private let root: TemporaryDirectory

    init() throws {
        root = try TemporaryDirectory()
    }

    private var path: String { "\(root.path)/a/b" }

    private func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }

    @Test func fileIsReplacedReadAndRemoved() throws {
        let directory = try PrivateDirectory(path, isMade: true)
        #expect(try status(of: path, followingLinks: false).st_mode & 0o777 == 0o700)
        try directory.replace("name", with: Array("old".utf8))
        try directory.replace("name", with: Array("new".utf8))
        #expect(try directory.contents(of: "name", limit: 3) == Array("new".utf8))
        #expect(try status(of: "\(path)/name", followingLinks: false).st_mode & 0o777 == 0o600)
        let names = try directory.names()
        #expect(names == ["name"])
        try directory.remove("name")
        try directory.remove("name")
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
    }

    /// A pipe stands for a directory on a file system that cannot write its names to disk.
    @Test func directoryThatCannotBeFlushedIsNoError() throws {
        var pipe: [CInt] = [-1, -1]
        try #require(Glibc.pipe(&pipe) == 0)
        defer { for end in pipe { close(end) } }
        try flushDirectory(pipe[0])
        #expect(throws: FileError(code: EBADF)) { try flushDirectory(-1) }
    }

    @Test func listingWithoutAFreeDescriptorSaysWhatIsMissing() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            let directory = try PrivateDirectory("\(root.path)/a", isMade: true)
            let taken = TakenDescriptors()
            var reason: FileError?
            do throws(FileError) {
                _ = try directory.names()
            } catch {
                reason = error
            }
            taken.giveBack()
            #expect(reason == FileError(code: EMFILE))
            withExtendedLifetime(root) {}
        }
    }

    @Test func missingDirectoryIsAnAbsence() {
        let error = #expect(throws: FileError.self) { _ = try PrivateDirectory(path) }
        #expect(error?.isAbsence == true)
    }

    @Test func linkInThePlaceOfTheDirectoryIsRefused() throws {
        try #require(mkdir("\(root.path)/target", 0o700) == 0 && symlink("target", "\(root.path)/link") == 0)
        for isMade in [false, true] {
            #expect(throws: FileError("is a link, not a directory")) {
                _ = try PrivateDirectory("\(root.path)/link", isMade: isMade)
            }
        }
    }

    @Test func linkOnTheWayIsRefusedOnlyWithinTheDepth() throws {
        try #require(mkdir("\(root.path)/target", 0o700) == 0 && symlink("target", "\(root.path)/link") == 0)
        let path = "\(root.path)/link/own"
        #expect(throws: FileError("is in \(root.path)/link, which is a link, not a directory")) {
            _ = try PrivateDirectory(path, depth: 2, isMade: true)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root.path)/target").isEmpty)
        _ = try PrivateDirectory(path, isMade: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root.path)/target") == ["own"])
    }

    @Test(arguments: [0o720, 0o702, 0o777] as [mode_t])
    func directoryThatOthersMayWriteToIsRefused(mode: mode_t) throws {
        try makePrivateDirectories(path)
        try #require(chmod(path, mode) == 0)
        #expect(throws: FileError("can be changed by other users")) { _ = try PrivateDirectory(path) }
    }

    @Test func linkToAFileIsNotFollowed() throws {
        let directory = try PrivateDirectory(path, isMade: true)
        let target = "\(root.path)/target"
        try Data("text".utf8).write(to: URL(filePath: target))
        try #require(symlink(target, "\(path)/link") == 0 && Glibc.link(target, "\(path)/name") == 0)
        for flags in [O_RDONLY, O_RDWR, O_WRONLY | O_CREAT] {
            let error = failure { () throws(FileError) in _ = try directory.open("link", flags) }
            #expect(error == FileError("is a link, not a file"))
            let other = failure { () throws(FileError) in _ = try directory.open("name", flags) }
            #expect(other == FileError("has several hard links"))
        }
        try directory.replace("link", with: [])
        try directory.replace("name", with: [])
        #expect(try bytes(target) == Array("text".utf8))
    }

    @Test func directoryInThePlaceOfAFileStays() throws {
        let directory = try PrivateDirectory(path, isMade: true)
        try #require(mkdir("\(path)/name", 0o700) == 0)
        #expect(failure { () throws(FileError) in try directory.replace("name", with: []) } != nil)
        let error = failure { () throws(FileError) in _ = try directory.contents(of: "name", limit: 1) }
        #expect(error == FileError("is a directory, not a file"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["name"])
    }

    /// A directory is not copyable, so a macro cannot capture it.
    private func failure(_ body: () throws(FileError) -> Void) -> FileError? {
        do throws(FileError) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
