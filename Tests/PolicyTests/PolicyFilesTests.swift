import Foundation
import Glibc
import OpenURLBus
import Policy
import TestSupport
import Testing
import UserFiles

/// The files of a policy, and who may write them.
@Suite(.timeLimit(.minutes(5))) struct PolicyFilesTests {
    private let root: URL
    private let files: PolicyFiles

    init() throws {
        root = FileManager.default.temporaryDirectory.appending(path: "openurl-policy-\(UUID().uuidString)")
        for name in ["etc", "home/openurl"] {
            try FileManager.default.createDirectory(at: root.appending(path: name), withIntermediateDirectories: true)
        }
        files = PolicyFiles(
            administratorsDirectory: root.appending(path: "etc").path,
            usersDirectory: root.appending(path: "home/openurl").path
        )
    }

    private func write(_ text: String, to name: String, mode: Int = 0o644) throws {
        let file = root.appending(path: name)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }

    private func set(_ urls: String, _ source: String, _ decision: PolicyDecision) throws {
        let pattern = try PolicyPattern(urls: urls, source: source)
        try files.change { $0.set(pattern, decision) }
    }

    private var usersText: String {
        get throws { try String(contentsOf: root.appending(path: "home/openurl/policy.conf"), encoding: .utf8) }
    }

    @Test func filesAreReadInOrder() throws {
        try write("deny b from *\n", to: "etc/20.conf")
        try write("deny a from *\n", to: "etc/10.conf")
        try write("deny never from *\n", to: "etc/30.conf~")
        try write("allow c from user\n", to: "home/openurl/policy.conf")
        let (rules, diagnostics) = files.read()
        #expect(rules.lines.map(\.text) == ["deny a from *", "deny b from *", "allow c from user"])
        #expect(rules.lines.map(\.isUsers) == [false, false, true])
        #expect(diagnostics.isEmpty)
    }

    @Test func missingFilesAreNoProblem() throws {
        let none = PolicyFiles(administratorsDirectory: "/nonexistent/a", usersDirectory: "/nonexistent/b")
        #expect(none.read().rules.isEmpty)
        #expect(none.read().diagnostics.isEmpty)
    }

    /// A program that takes all descriptors must neither disable rules nor hide that there are any.
    @Test func rulesStayWhileNoDescriptorIsFree() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            let files = PolicyFiles(administratorsDirectory: "\(root.path)/etc", usersDirectory: "\(root.path)/home")
            try root.write("deny a from *\n", to: "etc/10.conf")
            let users = try root.write("deny b from *\n", to: "home/policy.conf")
            let before = files.files.read(after: nil)
            let taken = TakenDescriptors()
            let unread = files.files.read(after: nil)
            let during = files.files.read(after: before)
            taken.giveBack()
            #expect(!before.isStale && unread.isStale && during.isStale)
            let refusals = ["deny * from sandboxed", "deny * from remote", "deny * from unknown"]
            #expect(files.rules(in: unread).rules.lines.map(\.text) == refusals + refusals)
            let (rules, diagnostics) = files.rules(in: during)
            #expect(rules == files.rules(in: before).rules && rules.lines.count == 2)
            #expect(diagnostics.map(\.file) == ["\(root.path)/etc", users])
            #expect(unlink(users) == 0)
            let after = files.files.read(after: during)
            #expect(!after.isStale)
            #expect(files.rules(in: after).rules.lines.map(\.text) == ["deny a from *"])
            withExtendedLifetime(root) {}
        }
    }

    /// A file that appears while no descriptor is free may refuse something.
    @Test func newFilesThatCannotBeReadAllowSandboxesNothing() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            let files = PolicyFiles(administratorsDirectory: "\(root.path)/etc", usersDirectory: "\(root.path)/home")
            func readWithoutDescriptors(after before: RuleTexts) -> RuleTexts {
                let taken = TakenDescriptors()
                defer { taken.giveBack() }
                return files.files.read(after: before)
            }
            let before = readWithoutDescriptors(after: files.files.read(after: nil))
            #expect(!before.isStale && files.rules(in: before).rules.isEmpty)
            try root.write("deny a from *\n", to: "etc/10.conf")
            try root.write("deny b from *\n", to: "home/policy.conf")
            let during = readWithoutDescriptors(after: before)
            let refusals = ["deny * from sandboxed", "deny * from remote", "deny * from unknown"]
            #expect(during.isStale && files.rules(in: during).rules.lines.map(\.text) == refusals + refusals)
            let after = files.files.read(after: during)
            #expect(!after.isStale)
            #expect(files.rules(in: after).rules.lines.map(\.text) == ["deny a from *", "deny b from *"])
            withExtendedLifetime(root) {}
        }
    }

    /// The user's rules count, even if an administrator's file can never be read.
    @Test(arguments: [("etc/10.conf", false), ("home/openurl/policy.conf", true)])
    func onlyTheUsersFileMakesTheUsersRulesStale(_ name: String, _ isUsers: Bool) throws {
        // Reading the memory of this process from its start fails with the error of a device.
        try FileManager.default.createSymbolicLink(
            atPath: root.appending(path: name).path,
            withDestinationPath: "/proc/self/mem"
        )
        let texts = files.files.read(after: nil)
        #expect(texts.isStale && texts.isUsersStale == isUsers)
    }

    private static let refusals = ["deny * from sandboxed", "deny * from remote", "deny * from unknown"]

    @Test func fileThatOthersMayChangeAllowsSandboxesNothing() throws {
        try write("deny a from *\n", to: "etc/10.conf", mode: 0o646)
        try write("deny b from *\n", to: "etc/20.conf", mode: 0o646)
        try write("deny c from *\n", to: "etc/30.conf")
        let (rules, diagnostics) = files.read()
        #expect(rules.lines.map(\.text) == Self.refusals + Self.refusals + ["deny c from *"])
        #expect(diagnostics.count == 2)
        let path = root.appending(path: "etc/20.conf").path
        #expect(diagnostics.last?.reason == "can be changed by every user; run `chmod o-w \(path)`")
    }

    @Test func fileThatIsSlowToCompareAllowsSandboxesNothing() throws {
        let marks = "a" + String(repeating: "\u{301}\u{316}", count: 16_000)
        try write("allow a from * # \(marks)\n", to: "etc/10.conf")
        let (rules, diagnostics) = files.read()
        #expect(rules.lines.map(\.text) == Self.refusals)
        #expect(diagnostics.map(\.reason) == ["has more than 30 combining marks in a row"])
    }

    @Test func directoryThatOthersMayChangeAllowsSandboxesNothing() throws {
        try write("allow a from *\n", to: "home/openurl/policy.conf")
        let directory = root.appending(path: "home/openurl").path
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
        #expect(files.read().rules.lines.map(\.text) == Self.refusals)
        #expect(files.read().diagnostics.first?.reason.contains("can be changed by every user") == true)
        #expect(throws: FileWriteError.self) { try set("b", "user", .allow) }
    }

    @Test func hugeFileAndOtherKindsAreDiagnostics() throws {
        try write(String(repeating: "#", count: PolicyText.maximumSize + 1), to: "etc/10.conf")
        mkfifo(root.appending(path: "etc/20.conf").path, 0o600)
        try write("deny c from *\n", to: "etc/40.conf")
        let (rules, diagnostics) = files.read()
        #expect(rules.lines.map(\.text) == Self.refusals + Self.refusals + ["deny c from *"])
        #expect(rules.lines.first?.place.hasSuffix("10.conf cannot be used") == true)
        #expect(
            diagnostics.map(\.reason) == [
                "is larger than 65536 bytes; remove rules or comments from it", "is a FIFO, not a file",
            ]
        )
    }

    @Test func lineThatIsNotUTF8SpoilsNoOtherLine() throws {
        let bytes =
            Array("deny a from *\n# ".utf8) + [0xFF] + Array("\ndeny ".utf8) + [0xFE]
            + Array(" from *\ndeny b from *\n".utf8)
        try Data(bytes).write(to: root.appending(path: "etc/10.conf"))
        let (rules, diagnostics) = files.read()
        #expect(rules.lines.map(\.text) == ["deny a from *"] + Self.refusals + ["deny b from *"])
        #expect(diagnostics.count == 1)
    }

    @Test func fileWithTooManyRulesAllowsSandboxesNothingElse() throws {
        let rules = (0...PolicyText.maximumRules).map { "allow s\($0) from user\n" }.joined()
        try write(rules, to: "etc/10.conf")
        #expect(files.read().rules.lines.suffix(3).map(\.text) == Self.refusals)
    }

    @Test func changeMakesThePrivateFile() throws {
        try FileManager.default.removeItem(at: root.appending(path: "home"))
        try set("tel", "sandboxed", .deny)
        #expect(try usersText == "deny tel from sandboxed\n")
        let attributes = try FileManager.default.attributesOfItem(
            atPath: root.appending(path: "home/openurl/policy.conf").path
        )
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func changeFollowsNoLink() throws {
        try write("# elsewhere\n", to: "etc/target")
        try FileManager.default.createSymbolicLink(
            at: root.appending(path: "home/openurl/policy.conf"),
            withDestinationURL: root.appending(path: "etc/target")
        )
        let error = #expect(throws: FileWriteError.self) { try set("tel", "user", .deny) }
        #expect(error?.reason == "is a link; change the rules in the file that it leads to")
        #expect(try String(contentsOf: root.appending(path: "etc/target"), encoding: .utf8) == "# elsewhere\n")
    }

    /// A change must not make the rules of another user count.
    @Test func fileThatIsNotUsedIsNotChanged() throws {
        try write("allow * from *\n", to: "home/openurl/policy.conf", mode: 0o666)
        #expect(throws: FileWriteError.self) { try set("tel", "user", .deny) }
        #expect(try usersText == "allow * from *\n")
    }
}

extension PolicyFiles {
    fileprivate func read() -> (rules: PolicyRules, diagnostics: [Diagnostic]) { rules(in: files.read(after: nil)) }
}
