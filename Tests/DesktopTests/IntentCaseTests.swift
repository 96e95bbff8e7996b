import FoundationEssentials
import Glibc
import TestSupport
import Testing
import UserFiles

@testable import Desktop

/// The cases in `Tests/Intents`, which other implementations can run too. Its README describes the keys.
@Suite struct IntentCaseTests {
    @Test(arguments: IntentCase.all) func decidesAsTheSpecificationsSay(_ item: IntentCase) throws {
        let tree = try item.tree()
        let directories = tree.directories
        if let expected = item.chosen.map({ $0 + (item.others ?? []) }) {
            let intent = item.intent.flatMap(Intent.init(rawValue:))
            let scope = item.scope.map(IntentScope.init(rawValue:))
            let applications = IntentApplications(
                entries: DesktopEntries(loading: directories),
                choices: IntentChoices(loading: directories)
            )
            var decision = IntentApplications.Decision()
            // A name that is no interface's, or no scope, has no applications.
            if let intent, scope != .some(nil) { decision = applications.decision(for: intent, scope: scope ?? nil) }
            #expect(decision.candidates.map(\.entry.id.rawValue) == expected)
            let chosen = decision.candidates.filter { $0.choice != nil && !$0.isForWholeIntent }
            #expect(chosen.map(\.entry.id.rawValue) == item.chosen)
            if let activatable = item.activatable {
                let called = decision.candidates.filter(\.entry.isDBusActivatable)
                #expect(called.map(\.entry.id.rawValue) == activatable)
            }
        }
        if let cache = item.cache {
            _ = try tree.makeParents(of: "home/applications/intent.cache")
            try IntentCache.rebuild(in: "\(tree.path)/home/applications")
            #expect(try tree.read("home/applications/intent.cache") == text(cache))
            let again = try #require(try IntentCache(readingIn: "\(tree.path)/home/applications"))
            #expect(again.bytes.elementsEqual(text(cache).utf8))
        }
        if let reads = item.reads {
            let cache = try #require(try IntentCache(readingIn: "\(tree.path)/home/applications"))
            #expect(names(cache.applications) == reads.applications)
            var scopes: [String: [String: [String]]] = [:]
            for (intent, found) in cache.scopes { scopes[intent.rawValue] = names(found) }
            #expect(scopes == reads.scopes)
        }
        if let choose = item.choose {
            let file = try #require(IntentChoicesFile(in: directories))
            let intent = try #require(Intent(rawValue: choose.intent))
            let scope = try choose.scope.map { try #require(IntentScope(rawValue: $0)) }
            if let id = choose.id {
                try file.setDefault(try #require(DesktopFileID(rawValue: id)), for: intent, scope: scope)
            } else {
                try file.removeDefault(for: intent, scope: scope)
            }
            #expect(try tree.read("config/intentapps.list") == text(try #require(item.written)))
        }
    }

    /// Other programs read every new cache.
    @Test func unchangedCacheIsNotWritten() throws {
        let tree = try TemporaryTree()
        let directory = "\(tree.path)/home/applications"
        let inode = { try status(of: "\(tree.path)/home/applications/intent.cache", followingLinks: false).st_ino }
        try tree.writeEntry("home/applications/a.desktop", claiming: "", "Implements=org.example.Intent;")
        try IntentCache.rebuild(in: directory)
        let first = try inode()
        try IntentCache.rebuild(in: directory)
        #expect(try inode() == first)
        try tree.writeEntry("home/applications/b.desktop", claiming: "", "Implements=org.example.Intent;")
        try IntentCache.rebuild(in: directory)
        #expect(try inode() != first)
    }

    @Test func problemsWithChoicesHaveKinds() {
        let group = "[Default Applications]\n"
        let choices = ["a", "b"].map { "org.example.Intent=\($0).desktop\n" }.joined()
        let text = "\(group)\(choices)Intent=a.desktop\n\(group)bad\n"
        let diagnostics = IntentList(Array(text.utf8), "/intentapps.list").diagnostics
        let kinds: [Diagnostic.Kind?] = [.malformedLine, .repetition, .repetition, nil]
        #expect(diagnostics.map(\.kind) == kinds)
    }

    @Test func kitIsComplete() throws {
        #expect(IntentCase.all.count >= 200)
        let rules = Dictionary(grouping: IntentCase.all) { "\($0.file): \($0.rule)" }
        #expect(rules.filter { $0.value.count > 1 }.keys.sorted() == [])
        for item in IntentCase.all {
            let expectations = [item.chosen != nil, item.cache != nil, item.reads != nil, item.written != nil]
            #expect(expectations.count { $0 } == 1, "\(item)")
        }
    }

    private func names(_ lists: [some RawRepresentable<String> & Hashable: [DesktopFileID]]) -> [String: [String]] {
        Dictionary(uniqueKeysWithValues: lists.map { ($0.key.rawValue, $0.value.map(\.rawValue)) })
    }
}

/// One case, as it is in a file.
struct IntentCase: Decodable, Sendable, CustomTestStringConvertible {
    struct Choice: Decodable, Sendable {
        let intent: String
        let scope: String?
        let id: String?
    }

    struct Reading: Decodable, Sendable {
        let applications: [String: [String]]
        let scopes: [String: [String: [String]]]
    }

    let name: String
    let rule: String
    let desktop: String?
    let files: [String: [String]]?
    let entries: [String: [String]]?
    let intent: String?
    let scope: String?
    let chosen: [String]?
    let others: [String]?
    let activatable: [String]?
    let cache: [String]?
    let reads: Reading?
    let choose: Choice?
    let written: [String]?
    /// The name of the file, which is not in it.
    var file = ""

    private enum CodingKeys: CodingKey {
        case name, rule, desktop, files, entries, intent, scope, chosen, others, activatable, cache, reads, choose
        case written
    }

    var testDescription: String { "\(file): \(name)" }

    /// All cases. If a file cannot be read, it has none, and the count is wrong.
    static let all: [IntentCase] = load()

    private struct File: Decodable {
        let source: String
        let cases: [IntentCase]
    }

    private static func load() -> [IntentCase] {
        let here = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        let directory = "/\(here)/Intents/Cases"
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory).sorted().flatMap { name in
                let bytes = try contents(ofFile: "\(directory)/\(name)", limit: 1 << 20, followingLinks: true)
                return try JSONDecoder().decode(File.self, from: Data(bytes)).cases.map { item in
                    var item = item
                    item.file = name
                    return item
                }
            }
        } catch {
            Issue.record(error, "cannot load the cases")
            return []
        }
    }

    /// Creates the directories with the case's files.
    func tree() throws -> TemporaryTree {
        let tree = try TemporaryTree()
        tree.environment["XDG_CURRENT_DESKTOP"] = desktop
        for (path, lines) in files ?? [:] { try tree.write(text(lines), to: path) }
        let head = ["[Desktop Entry]", "Type=Application", "Name=Test", "Exec=true"]
        for (path, lines) in entries ?? [:] { try tree.write(text(head + lines), to: path) }
        return tree
    }
}

private func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }
