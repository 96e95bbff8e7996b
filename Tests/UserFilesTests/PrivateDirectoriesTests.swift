import Glibc
import TestSupport
import Testing
import UserFiles

@Suite struct PrivateDirectoriesTests {
    private func mode(_ path: String) throws -> mode_t { try status(of: path, followingLinks: false).st_mode & 0o777 }

    @Test func missingDirectoriesAreMadeForTheUserAlone() throws {
        let root = try TemporaryDirectory()
        try #require(chmod(root.path, 0o755) == 0)
        try makePrivateDirectories("\(root.path)/a/b/c")
        #expect(try mode("\(root.path)/a") == 0o700)
        #expect(try mode("\(root.path)/a/b/c") == 0o700)
        #expect(try mode(root.path) == 0o755)
        try makePrivateDirectories("\(root.path)/a/b/c")
    }

    @Test func directoryOfTheRootIsNotMade() {
        let path = "/openurl-nonexistent/.local"
        #expect(throws: DirectoryError(path: path, error: FileError(code: ENOENT))) {
            try makePrivateDirectories("\(path)/state")
        }
        #expect(access("/openurl-nonexistent", F_OK) != 0)
    }

    @Test func errorNamesTheDirectoryThatCannotBeMade() {
        #expect(throws: DirectoryError(path: "/dev/null/a", error: FileError(code: ENOTDIR))) {
            try makePrivateDirectories("/dev/null/a/b")
        }
    }

    @Test func homeOfAUserWithoutAHomeIsNotMade() {
        #expect(throws: DirectoryError(path: "/openurl-nonexistent/a", error: FileError(code: ENOENT))) {
            try makePrivateDirectories("/openurl-nonexistent/a/b")
        }
        #expect(access("/openurl-nonexistent", F_OK) != 0)
    }

    @Test func parentDirectoryIsThePathBeforeTheName() {
        #expect(parentDirectory(of: "/a/b/c") == "/a/b")
        #expect(parentDirectory(of: "/a") == "")
    }
}
