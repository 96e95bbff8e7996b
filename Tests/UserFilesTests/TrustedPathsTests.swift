import Glibc
import TestSupport
import Testing
import UserFiles

@Suite struct TrustedPathsTests {
    private let root: TemporaryDirectory

    init() throws {
        root = try TemporaryDirectory()
        try #require(mkdir("\(root.path)/a", 0o755) == 0)
        try make("a/file")
    }

    private func make(_ name: String) throws {
        let file = open("\(root.path)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o755)
        try #require(file >= 0)
        close(file)
    }

    private func setMode(_ name: String, _ mode: mode_t) throws {
        try #require(chmod("\(root.path)/\(name)", mode) == 0)
    }

    private func reason(_ name: String) -> String? {
        do throws(FileError) {
            var paths = TrustedPaths()
            try paths.check("\(root.path)/\(name)")
            // The second check knows the directories.
            try paths.check("\(root.path)/\(name)")
            return nil
        } catch {
            return error.reason
        }
    }

    /// The test's directory is in the sticky directory of root.
    @Test func filesOfTheUserAreTrusted() {
        #expect(reason("a/file") == nil)
        #expect(reason("a") == nil)
        #expect(reason("a/../a/./file") == nil)
    }

    @Test func programsOfTheSystemAreTrusted() throws {
        var paths = TrustedPaths()
        try paths.check("/bin/sh")
        try paths.check("/usr/bin/env")
    }

    @Test func fileThatOthersMayWriteIsRefused() throws {
        try setMode("a/file", 0o757)
        #expect(reason("a/file") == "can be changed by every user; run `chmod o-w \(root.path)/a/file`")
    }

    @Test func directoryThatOthersMayWriteIsRefused() throws {
        try setMode("a", 0o757)
        let advice = "run `chmod o-w \(root.path)/a`"
        #expect(reason("a/file") == "is in \(root.path)/a, which can be changed by every user; \(advice)")
        try setMode("a", 0o1757)
        #expect(reason("a/file") != nil)
    }

    /// The kernel ends a name at each slash. Swift sees another character in a slash with a combining mark after it.
    @Test(arguments: ["\u{301}d", "\u{200D}d", "e\u{301}"])
    func directoryAboveANameOfMarksIsChecked(_ name: String) throws {
        try #require(mkdir("\(root.path)/a/\(name)", 0o755) == 0)
        try make("a/\(name)/file")
        #expect(reason("a/\(name)/file") == nil)
        try setMode("a", 0o757)
        #expect(reason("a/\(name)/file")?.hasPrefix("is in \(root.path)/a, which can be changed") == true)
        try setMode("a", 0o755)
        try #require(symlink("\(name)/file", "\(root.path)/a/link") == 0)
        try setMode("a/\(name)", 0o757)
        #expect(reason("a/link") != nil)
    }

    /// Two names with different bytes can be equal texts.
    @Test func equalTextsAreDifferentDirectories() throws {
        for (name, mode): (String, mode_t) in [("\u{E9}", 0o755), ("e\u{301}", 0o757)] {
            try #require(mkdir("\(root.path)/\(name)", 0o755) == 0)
            try make("\(name)/file")
            try setMode(name, mode)
        }
        var paths = TrustedPaths()
        try paths.check("\(root.path)/\u{E9}/file")
        #expect(throws: FileError.self) { try paths.check("\(root.path)/e\u{301}/file") }
    }

    @Test func namesOnAPathAreThoseOfTheKernel() {
        #expect(names(onPath: "/a//\u{301}b/c/") == ["a", "\u{301}b", "c"])
        #expect(parentDirectory(of: "/a/\u{301}b").utf8.elementsEqual("/a".utf8))
        #expect(isBelow("/a/\u{301}b", "/a") && !isBelow("/e\u{301}/b", "/\u{E9}"))
    }

    @Test func groupOfTheOwnerMayWrite() throws {
        try setMode("a/file", 0o775)
        try setMode("a", 0o775)
        #expect((reason("a/file") == nil) == (getegid() == geteuid()))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a file of another user"))
    func fileOfAnotherUserIsRefused() throws {
        try #require(chown("\(root.path)/a/file", 1234, 0) == 0)
        #expect(
            reason("a/file") == "belongs to the user 1234; run `chown 0 \(root.path)/a/file` as root"
        )
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a file of another group"))
    func fileOfAnotherGroupIsRefused() throws {
        try #require(chown("\(root.path)/a/file", 0, 1234) == 0)
        #expect(reason("a/file") == nil)
        try setMode("a/file", 0o775)
        #expect(reason("a/file") == "can be changed by the group 1234; run `chmod g-w \(root.path)/a/file`")
    }

    @Test func fileInADirectoryOfEveryUserIsRefused() throws {
        let name = "/tmp/userfiles-\(getpid())"
        let file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        close(file)
        defer { unlink(name) }
        var paths = TrustedPaths()
        try paths.check("/tmp")
        let expected = FileError("is in /tmp, where every user may create files; move it to a directory of your own")
        #expect(throws: expected) { try paths.check(name) }
    }

    @Test func linksAreFollowed() throws {
        try #require(mkdir("\(root.path)/b", 0o755) == 0 && symlink("../a", "\(root.path)/b/link") == 0)
        #expect(reason("b/link/file") == nil)
        try setMode("a", 0o757)
        #expect(reason("b/link/file")?.hasSuffix("run `chmod o-w \(root.path)/a`") == true)
        try setMode("a", 0o755)
        try setMode("b", 0o757)
        #expect(reason("b/link/file")?.hasSuffix("run `chmod o-w \(root.path)/b`") == true)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a link of another user"))
    func linkOfAnotherUserIsRefused() throws {
        try #require(symlink("a", "\(root.path)/link") == 0 && lchown("\(root.path)/link", 1234, 1234) == 0)
        #expect(reason("link/file")?.hasPrefix("is in \(root.path)/link, which belongs to the user 1234") == true)
    }

    @Test func circleOfLinksEnds() throws {
        try #require(symlink("c", "\(root.path)/c") == 0)
        #expect(reason("c") == "is part of a cycle of links")
    }

    @Test func missingFileIsAnAbsence() {
        var paths = TrustedPaths()
        let error = #expect(throws: FileError.self) { try paths.check("\(root.path)/none/file") }
        #expect(error?.isAbsence == true)
    }

    @Test func commandIsQuoted() throws {
        try make("a/it's here")
        try setMode("a/it's here", 0o707)
        #expect(reason("a/it's here")?.hasSuffix(#"run `chmod o-w '\#(root.path)/a/it'\''s here'`"#) == true)
    }
}
