import DBus
import Glibc
import SchemeRegistry
import TestSupport
import Testing

@testable import Doctor

/// The meaning of the argument of `openurl doctor`.
@Suite struct TopicTests {
    /// A session with a handler, an application and a handler whose identifier is also a scheme.
    private func makeSession() throws -> ExaminedSession {
        let session = try ExaminedSession()
        try session.writeEntry("reader", opening: ["news", "feed"])
        try session.writeEntry("note-taker", opening: [])
        try session.writeEntry("unusable", opening: ["one", "TWO"], command: "\"unusable %u")
        try session.register("com.example.dotted", schemes: ["x.dotted"])
        try session.root.write("broken", to: "\(ExaminedSession.handlers)/com.example.broken.plist")
        try session.root.makeDirectory("\(ExaminedSession.handlers)/com.example.bundle.app")
        try session.publish()
        return session
    }

    struct Meaning: Sendable, CustomTestStringConvertible {
        let text: String
        var schemes: [String] = []
        var url: String?
        var identifier: String?
        var testDescription: String { text }
    }

    @Test(arguments: [
        Meaning(text: "note", schemes: ["note"]),
        Meaning(text: "NOTE", schemes: ["note"]),
        Meaning(text: "news", schemes: ["news"]),
        Meaning(text: "unknown", schemes: ["unknown"]),
        Meaning(text: "x-unknown+1", schemes: ["x-unknown+1"]),
        Meaning(text: "note:", schemes: ["note"], url: "note:"),
        Meaning(text: "note:1", schemes: ["note"], url: "note:1"),
        Meaning(text: "Note://host/a?b#c", schemes: ["note"], url: "Note://host/a?b#c"),
        Meaning(text: "unknown:x:y", schemes: ["unknown"], url: "unknown:x:y"),
        Meaning(text: "note:a b", schemes: ["note"], url: "note:a b"),
        Meaning(text: "com.example.note", schemes: ["note"], identifier: "com.example.note"),
        Meaning(text: "com.example.note.desktop", schemes: ["note"], identifier: "com.example.note"),
        Meaning(text: "reader", schemes: ["news", "feed"], identifier: "reader"),
        Meaning(text: "reader.desktop", schemes: ["news", "feed"], identifier: "reader"),
        Meaning(text: "note-taker", identifier: "note-taker"),
        Meaning(text: "unusable", schemes: ["one", "two"], identifier: "unusable"),
        Meaning(text: "com.example.broken", identifier: "com.example.broken"),
        Meaning(text: "com.example.bundle", identifier: "com.example.bundle"),
        Meaning(text: "com.example.gone", identifier: "com.example.gone"),
        Meaning(text: "x.dotted", schemes: ["x.dotted"]),
        Meaning(text: "x.dotted:1", schemes: ["x.dotted"], url: "x.dotted:1"),
    ])
    func argumentHasOneMeaning(_ meaning: Meaning) throws {
        let session = try makeSession()
        let topic = try #require(Topic(meaning.text, session.files()))
        #expect(topic.schemes.map(\.rawValue) == meaning.schemes)
        #expect(topic.url == meaning.url)
        #expect(topic.identifier == meaning.identifier)
    }

    @Test(arguments: [
        "", " ", "no scheme", "1note", "-note", "nöte", "note/1", "/home/user/note", "./note", "?", ":", ":note", "1:x",
        "n ote:x", "nöte:x", "/a:b", "note\n",
    ])
    func otherTextIsNoTopic(_ text: String) throws {
        let session = try makeSession()
        #expect(Topic(text, session.files()) == nil)
    }

    @Test func topicLimitsTheSchemes() throws {
        let session = try ExaminedSession()
        try session.register("com.example.other", schemes: ["other"])
        func schemes(_ text: String?) throws -> [String] {
            let files = session.files()
            let topic = text.flatMap { Topic($0, files) }
            return Evidence(files, .failure(.timedOut), topic: topic, commandVersion: "").schemes.map(\.rawValue)
        }
        #expect(try schemes(nil) == ["note", "other"])
        #expect(try schemes("other:1") == ["other"])
        #expect(try schemes("com.example.other") == ["other"])
        #expect(try schemes("com.example.gone") == [])
    }

    /// A fault of another handler is not the topic.
    @Test(
        arguments: [(nil, 1), ("other", 0), ("com.example.other", 0), ("com.example.note", 1), ("note", 1)]
            as [(String?, Int)]
    )
    func otherHandlersAreLeftOut(_ topic: String?, _ count: Int) throws {
        let session = try ExaminedSession()
        try session.register("com.example.other", schemes: ["other"])
        try session.publish()
        try #require(unlink(session.path("home/programs/com.example.note")) == 0)
        #expect(try session.findings(about: topic).count { $0.check == "program" } == count)
    }
}
