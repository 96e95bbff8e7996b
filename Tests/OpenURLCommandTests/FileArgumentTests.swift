import Foundation
import Testing

@testable import URLOpener

/// The files that arguments name.
struct FileArgumentTests {
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID())").resolvingSymlinksInPath()
        try FileManager.default.createDirectory(
            at: directory.appending(path: "sub/deep"),
            withIntermediateDirectories: true
        )
    }

    private func url(_ argument: CommandLineArgument) throws -> String {
        do {
            return try argument.urlText()
        } catch {
            throw error
        }
    }

    private func make(_ name: [UInt8]) -> [UInt8] {
        let path = Array("\(directory.path)/".utf8) + name
        let descriptor = open(path.map(CChar.init(bitPattern:)) + [0], O_CREAT | O_WRONLY, 0o600)
        #expect(descriptor >= 0)
        close(descriptor)
        return path
    }

    @Test(arguments: [
        ("a.png", "a.png"), ("a b#c?d%;e", "a%20b%23c%3Fd%25%3Be"), ("x:y", "x%3Ay"), ("-rf", "-rf"), ("ü~", "%C3%BC~"),
        ("\n", "%0A"),
    ])
    func nameIsEscaped(_ name: String, _ escaped: String) throws {
        let path = String(decoding: make(Array(name.utf8)), as: UTF8.self)
        #expect(try url(.text(path)) == "file://\(directory.path)/\(escaped)")
        try FileManager.default.removeItem(at: directory)
    }

    @Test func nameNeedNotBeUTF8() throws {
        #expect(try url(.notUTF8(make([0xFF, 0x61]))) == "file://\(directory.path)/%FFa")
        try FileManager.default.removeItem(at: directory)
    }

    @Test func pathBecomesAbsoluteWithoutDots() throws {
        _ = make(Array("a".utf8))
        try FileManager.default.createSymbolicLink(
            atPath: "\(directory.path)/link",
            withDestinationPath: "\(directory.path)/sub/deep"
        )
        let base = "file://\(directory.path)"
        #expect(try url(.text("\(directory.path)/./sub//deep/../../a")) == "\(base)/a")
        // After a link, `..` is the directory above the one that the link leads to.
        #expect(try url(.text("\(directory.path)/link/..")) == "\(base)/sub")
        #expect(try url(.text("\(directory.path)/link")) == "\(base)/link")
        #expect(try url(.text("/")) == "file:///")
        let working = FileManager.default.currentDirectoryPath
        #expect(try url(.text("./")) == "file://\(working)")
        try FileManager.default.removeItem(at: directory)
    }

    @Test(arguments: ["a:b", "x-y+z.1:/etc/passwd", "mailto:a@b", "file:///etc/passwd", "HTTP://x"])
    func argumentWithASchemeIsAURL(_ text: String) throws {
        #expect(CommandLineArgument.text(text).hasScheme)
        #expect(!CommandLineArgument.text(text).namesFile && !CommandLineArgument.text(text).isPath)
        #expect(try url(.text(text)) == text)
    }

    @Test(arguments: ["/missing/file", "./missing", "a/b:c", "//host/path"])
    func missingFileIsAnError(_ text: String) throws {
        let run = try openurl(text)
        // Without a bus, the file is still looked at first.
        #expect(run.status == 66 || run.status == 69)
        let failure = #expect(throws: CommandFailure.self) { try url(.text(text)) }
        #expect(failure?.exitStatus == 66)
        #expect(failure?.message == "'\(text)' is neither a URL with a scheme nor a file: No such file or directory")
    }

    @Test(arguments: [
        ("hello//x", "hello://x"), ("todo-list?a=b", "todo-list:?a=b"),
        ("www.example.com/a", "https://www.example.com/a"),
    ])
    func urlWithoutItsColonIsRecognised(_ text: String, _ url: String) throws {
        let failure = #expect(throws: CommandFailure.self) { try CommandLineArgument.text(text).fileURL() }
        #expect(failure?.message.hasSuffix("; to open a URL, write '\(url)'") == true, "\(failure?.message ?? "")")
    }

    @Test(arguments: ["notes.txt", "a/b", "/a", "-x", "1a", "a b", ""])
    func otherTextIsNoURLWithoutItsColon(_ text: String) {
        #expect(CommandFailure.missingColon(text) == nil)
    }

    /// The shell splits a URL with a space that has no quotation marks.
    @Test func restOfAURLIsRecognised() throws {
        let run = try openurl("note:?text=two", "small words", "--", "more")
        let fact = "'small words' is neither a URL with a scheme nor a file, so nothing was opened"
        let advice = "if it belongs to the previous URL, write 'note:?text=two%20small%20words%20more'"
        #expect(run.errors == "openurl: \(fact); \(advice)\n" && run.status == 66, "\(run)")
    }

    @Test func textThatIsNoNameIsLeftToTheRouter() throws {
        #expect(try url(.text("")) == "")
        #expect(try url(.text("1:x")) == "1:x")
    }
}
