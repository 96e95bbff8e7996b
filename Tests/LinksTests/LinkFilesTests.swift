import Glibc
import Policy
import TestSupport
import Testing
import UserFiles

@testable import Links

/// The files with the rules for links.
@Suite(.timeLimit(.minutes(5))) struct LinkFilesTests {
    private let root: TemporaryDirectory
    private let files: LinkFiles

    init() throws {
        // Files directly in /tmp could belong to anybody, so these are below a directory.
        root = try TemporaryDirectory()
        try root.makeDirectory("etc")
        try root.makeDirectory("home")
        files = LinkFiles(administratorsDirectory: "\(root.path)/etc", usersDirectory: "\(root.path)/home")
    }

    @Test func usersRulesComeFirst() throws {
        try root.write("open * with b\n", to: "etc/20.conf")
        try root.write("open * with a\n", to: "etc/10.conf")
        try root.write("open * with u\n", to: "home/links.conf")
        let (rules, problems) = files.read()
        #expect(problems.isEmpty)
        #expect(rules.rules.map(\.text) == ["open * with u", "open * with a", "open * with b"])
        #expect(rules.rules.map(\.isUsers) == [true, false, false])
    }

    @Test func fileThatOthersMayChangeIsLeftOut() throws {
        try root.write("open * with a\n", to: "etc/10.conf")
        try root.write("open * with u\n", to: "home/links.conf", mode: 0o666)
        #expect(chmod(root.path + "/home/links.conf", 0o666) == 0)
        let (rules, problems) = files.read()
        #expect(rules.rules.map(\.text) == ["open * with a"])
        #expect(problems.map(\.file) == ["\(root.path)/home/links.conf"])
    }

    @Test func missingFilesAreNoProblem() {
        let none = LinkFiles(administratorsDirectory: "/nonexistent/a", usersDirectory: "/nonexistent/b")
        #expect(none.read().rules.rules.isEmpty)
        #expect(none.read().diagnostics.isEmpty)
    }

    /// A program that takes all descriptors must not disable rules.
    @Test func rulesStayWhileNoDescriptorIsFree() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            let files = LinkFiles(administratorsDirectory: "\(root.path)/etc", usersDirectory: "\(root.path)/home")
            try root.write("open * with a\n", to: "etc/10.conf")
            try root.write("open * with u\n", to: "home/links.conf")
            let before = files.files.read(after: nil)
            let taken = TakenDescriptors()
            let during = files.files.read(after: before)
            taken.giveBack()
            #expect(!before.isStale && during.isStale)
            #expect(files.rules(in: during).rules.rules.map(\.text) == ["open * with u", "open * with a"])
            #expect(!files.files.read(after: during).isStale)
            withExtendedLifetime(root) {}
        }
    }

    @Test func changeKeepsOtherLines() throws {
        try root.write("# a\nrubbish\nopen * with chooser\n", to: "home/links.conf")
        let rule = try #require(files.read().rules.rules.first)
        try files.change { $0.insert("open *://a with b", above: rule) }
        #expect(files.read().rules.rules.map(\.line) == [3, 4])
    }
}
