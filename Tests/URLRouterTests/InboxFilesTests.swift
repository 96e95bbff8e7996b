import DBus
import Glibc
import OpenURLBus
import Reactor
import TestSupport
import Testing
import UserFiles

@testable import URLRouter

/// The names and the files of inboxes.
@Suite(.timeLimit(.minutes(10))) struct InboxFilesTests {
    private let directory: TemporaryDirectory
    private var root: String { directory.path }

    init() throws {
        directory = try TemporaryDirectory(in: "/var/tmp")
    }

    @Test(
        arguments: [
            ("", .empty), (".", .hidden), ("..", .hidden), (".hidden", .hidden), ("../x", .hidden),
            (".\u{301}hidden", .hidden), (".\u{200D}hidden", .hidden), ("a/\u{301}b", .forbiddenCharacter("/")),
            ("a/b", .forbiddenCharacter("/")), ("/etc/passwd", .forbiddenCharacter("/")),
            ("a\n", .forbiddenCharacter("\n")), ("a\u{7F}", .forbiddenCharacter("\u{7F}")),
            ("a\u{202E}gnp.exe", .forbiddenCharacter("\u{202E}")),
            (String(repeating: "x", count: 300), .tooLong(300)),
        ] as [(String, InboxName.ParseError)]
    )
    func badNameIsRefused(_ name: String, _ error: InboxName.ParseError) {
        #expect(throws: error) { try InboxName(name) }
    }

    @Test(
        arguments: [
            ("a.png", 0, "a.png"), ("a.png", 1, "a-1.png"), ("-rf", 2, "-rf-2"), ("a.tar.gz", 1, "a.tar-1.gz"),
            ("README", 3, "README-3"), ("ü.txt", 1, "ü-1.txt"), ("a.\u{301}png", 1, "a-1.\u{301}png"),
        ]
    )
    func takenNameGetsANumber(_ name: String, _ number: Int, _ expected: String) throws {
        #expect(try InboxName(name).alternative(number) == expected)
    }

    @Test func longNameStaysWithinTheLimit() throws {
        for name in [
            String(repeating: "x", count: 255), String(repeating: "ü", count: 127),
            "a." + String(repeating: "b", count: 253),
        ] {
            for number in [0, 1, 10_000] {
                let alternative = try InboxName(name).alternative(number)
                #expect(alternative.utf8.count <= 255)
                _ = try InboxName(alternative)
            }
        }
    }

    private func source(_ bytes: [UInt8], _ name: String = "source") throws -> CInt {
        let descriptor = open("\(root)/\(name)", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        return descriptor
    }

    private func inbox(_ change: (inout InboxLimits) -> Void = { _ in }) -> InboxFiles {
        var limits = InboxLimits()
        limits.spare = 0
        change(&limits)
        return InboxFiles(dataHome: "\(root)/data", limits: limits)
    }

    private func names() throws -> [String] {
        try PrivateDirectory("\(root)/data/com.acme.a/Inbox", isMade: true).names()
    }

    private func receive(_ inbox: InboxFiles, _ descriptor: CInt, _ name: String = "a.png") throws -> String {
        try inbox.receive(descriptor, named: InboxName(name), for: "com.acme.a")
    }

    @Test func copyIsWholeAndPrivate() throws {
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
        let file = try source(bytes)
        defer { close(file) }
        let inbox = inbox()
        let path = try receive(inbox, file)
        #expect(path == "\(root)/data/com.acme.a/Inbox/a.png")
        #expect(try contents(ofFile: path, limit: 1 << 20) == bytes)
        #expect(try status(of: path, followingLinks: false).st_mode & 0o777 == 0o600)
        // The position of the sender's file neither matters nor changes.
        #expect(lseek(file, 0, SEEK_CUR) == off_t(bytes.count))
        #expect(try receive(inbox, file).hasSuffix("/a-1.png"))
        #expect(try receive(inbox, file).hasSuffix("/a-2.png"))
        #expect(try names() == ["a-1.png", "a-2.png", "a.png"])
        #expect(inbox.holds(Array(path.utf8), of: "com.acme.a"))
        for other in [
            "\(root)/data/com.acme.a/Inbox/.x", "\(root)/data/com.acme.a/Inbox/../x", "/etc/passwd", path + "/x",
        ] {
            #expect(!inbox.holds(Array(other.utf8), of: "com.acme.a"))
        }
        #expect(!inbox.holds(Array(path.utf8), of: "com.acme.b"))
    }

    /// Copies a file into an inbox again and again, and returns the errors.
    private func errors(of count: Int, on loop: EventLoop, _ limits: RouterLimits) async throws -> [OpenURLError.Code?]
    {
        let file = try source([1])
        defer { close(file) }
        let (dataHome, name) = ("\(root)/data", try InboxName("a.png"))
        return await loop.startTask {
            let inboxes = Inboxes(dataHome: dataHome, limits, on: loop)
            var errors: [OpenURLError.Code?] = []
            for _ in 0..<count {
                do throws(OpenURLError) {
                    _ = try await inboxes.receive(name, UnixFD(owning: dup(file)), for: "com.acme.a", "user")
                    errors.append(nil)
                } catch {
                    errors.append(error.code)
                }
            }
            return errors
        }.value
    }

    @Test func copiesAreLimitedAndGivenBack() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        var limits = RouterLimits()
        // One program gets half of what is left.
        limits.inboxCopies = 2
        #expect(try await errors(of: 3, on: loop, limits) == [nil, nil, nil])
        #expect(try names() == ["a-1.png", "a-2.png", "a.png"])
        limits.inboxCopies = 1
        #expect(try await errors(of: 1, on: loop, limits) == [.limitsExceeded])
        #expect(try names().count == 3)
    }

    /// The handler puts a link in the place of its inbox before the router removes a copy.
    @Test func removalFollowsNoLink() throws {
        let file = try source([1])
        defer { close(file) }
        let inbox = inbox()
        let path = try receive(inbox, file)
        let directory = "\(root)/data/com.acme.a"
        try #require(rename("\(directory)/Inbox", "\(directory)/moved") == 0)
        try #require(symlink("\(directory)/moved", "\(directory)/Inbox") == 0)
        inbox.remove(path)
        #expect(access("\(directory)/moved/a.png", F_OK) == 0)
        try #require(unlink("\(directory)/Inbox") == 0 && rename("\(directory)/moved", "\(directory)/Inbox") == 0)
        inbox.remove(path)
        #expect(access(path, F_OK) != 0)
    }

    @Test func emptyFileIsCopied() throws {
        let file = try source([])
        defer { close(file) }
        #expect(try contents(ofFile: receive(inbox(), file), limit: 1) == [])
    }

    @Test func onlyRegularFilesAreCopied() throws {
        var ends: [CInt] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let directory = open(root, O_RDONLY | O_CLOEXEC)
        let device = open("/dev/zero", O_RDONLY | O_CLOEXEC)
        defer { for descriptor in [directory, device] { close(descriptor) } }
        for (descriptor, kind) in [(ends[0], "a FIFO"), (directory, "a directory"), (device, "a device")] {
            #expect(throws: InboxError(reason: "is \(kind), not a file")) { try receive(inbox(), descriptor) }
        }
        #expect(throws: InboxError.self) { try receive(inbox(), -1) }
        // A descriptor for writing alone cannot be read.
        let unreadable = open("\(root)/w", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(unreadable) }
        try #require(write(unreadable, "x", 1) == 1)
        #expect(throws: InboxError.self) { try receive(inbox(), unreadable) }
        #expect(try names() == [])
    }

    @Test func inboxIsBounded() throws {
        let file = try source([1, 2, 3])
        defer { close(file) }
        let few = inbox { $0.files = 2 }
        for _ in 1...2 { _ = try receive(few, file) }
        let manyFiles = InboxError(isFull: true, reason: "does not fit into the inbox, which has 2 files")
        #expect(throws: manyFiles) { try receive(few, file) }
        let small = inbox { $0.bytes = 8 }
        let full = InboxError(isFull: true, reason: "does not fit into the inbox, which has 2 of 8 bytes left")
        #expect(throws: full) { try receive(small, file) }
        let tiny = inbox { $0.bytes = 2 }
        let tooLarge = InboxError(isFull: true, reason: "is too large: an inbox has room for 2 bytes")
        #expect(throws: tooLarge) { try receive(tiny, file) }
        unlink("\(root)/data/com.acme.a/Inbox/a.png")
        _ = try receive(small, file)
        #expect(try names().count == 2)
    }

    /// A file has as many bytes as it says, and as few on the disk as before.
    @Test func holesStayHoles() throws {
        let file = try source([])
        defer { close(file) }
        let size = off_t(3) << 40
        for place in [off_t(1 << 20), 1 << 41] { try #require(pwrite(file, "data", 4, place) == 4) }
        try #require(ftruncate(file, size) == 0 && fsync(file) == 0)
        let inbox = inbox()
        let path = try receive(inbox, file)
        let copied = try status(of: path, followingLinks: false)
        #expect(copied.st_size == size)
        #expect(copied.st_blocks * 512 < 1 << 20)
        let copy = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(copy) }
        for (place, text) in [(off_t(1 << 20), "data"), (1 << 41, "data"), (1 << 30, "\0\0\0\0")] {
            var bytes = [UInt8](repeating: 1, count: 4)
            #expect(pread(copy, &bytes, 4, place) == 4)
            #expect(bytes == Array(text.utf8))
        }
        // The inbox counts what is on the disk, and the position of the sender's file stays.
        _ = try receive(inbox, file)
        #expect(lseek(file, 0, SEEK_CUR) == 0)
    }

    @Test func fileOfHolesIsCopied() throws {
        let file = try source([])
        defer { close(file) }
        try #require(ftruncate(file, 5 << 30) == 0)
        #expect(try status(of: receive(inbox { $0.bytes = 8 }, file), followingLinks: false).st_size == 5 << 30)
    }

    @Test func freeSpaceIsLeft() throws {
        let file = try source([1, 2, 3])
        defer { close(file) }
        let inbox = inbox { $0.spare = .max / 4 }
        #expect(throws: InboxError(isFull: true, reason: "does not fit on the disk")) { try receive(inbox, file) }
        #expect(try names() == [])
    }

    @Test func linkInThePlaceOfTheInboxIsNotFollowed() throws {
        let file = try source([1])
        defer { close(file) }
        for name in ["data", "data/com.acme.a", "elsewhere"] { mkdir("\(root)/\(name)", 0o700) }
        try #require(symlink("\(root)/elsewhere", "\(root)/data/com.acme.a/Inbox") == 0)
        #expect(throws: InboxError(reason: "is a link, not a directory")) { try receive(inbox(), file) }
        unlink("\(root)/data/com.acme.a/Inbox")
        // Nor is a link in the place of the file.
        mkdir("\(root)/data/com.acme.a/Inbox", 0o700)
        try #require(symlink("/etc/passwd", "\(root)/data/com.acme.a/Inbox/a.png") == 0)
        #expect(try receive(inbox(), file).hasSuffix("/a-1.png"))
    }

    @Test func sizeThatChangesIsNoticed() throws {
        // The length of a file of /proc is 0, and the file still has contents.
        let file = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        #expect(try contents(ofFile: receive(inbox(), file), limit: 1) == [])
    }
}
