import Foundation
import OpenURLBus
import Policy
import RFC1808
import Testing

@testable import Links

/// Rule sets of other programs, in our own words, with the result that each gives for some links.
@Suite struct RuleSetTests {
    private static let files = Result {
        try FileManager.default.contentsOfDirectory(
            at: Bundle.module.bundleURL.appending(path: "Cases"),
            includingPropertiesForKeys: nil
        ).map(\.lastPathComponent).sorted()
    }

    @Test func thereAreTwentySetsOfFourPrograms() throws {
        let files = try Self.files.get()
        #expect(files.count >= 20)
        #expect(Set(files.map { $0.prefix { $0 != "-" } }) == ["finicky", "junction", "linkquisition", "switchyard"])
    }

    @Test(arguments: try RuleSetTests.files.get()) func setGivesTheSameResults(_ file: String) throws {
        let path = Bundle.module.bundleURL.appending(path: "Cases/\(file)")
        let text = try String(contentsOf: path, encoding: .utf8)
        let parts = text.components(separatedBy: "\n---\n")
        try #require(parts.count == 2)
        let (all, problems) = LinkText(parts[0]).rules(file: file, isUsers: true)
        #expect(problems.isEmpty, "\(problems)")
        let rules = LinkRules(all)
        for row in parts[1].split(separator: "\n") {
            let halves = row.components(separatedBy: " -> ")
            try #require(halves.count == 2, "\(row)")
            let words = halves[0].split(separator: " ").map(String.init)
            let decision = rules.decision(
                on: try GenericURL(words[0]),
                from: try caller(words.count > 1 ? words[1] : nil),
                at: LinkMoment(day: 1, minute: 600)
            )
            #expect(decision.problems.isEmpty)
            let result = decision.url.description == words[0] ? decision.words : "\(decision.words) \(decision.url)"
            let expected =
                halves[1].hasSuffix(" \(words[0])") ? halves[1].replacing(" \(words[0])", with: "") : halves[1]
            #expect(result == expected, "\(row)")
        }
    }

    private func caller(_ source: String?) throws -> LinkCaller {
        guard let source else { return LinkCaller(PolicyCaller(.user), program: "/usr/bin/other") }
        switch try LinkSource(source) {
        case .program(let path): return LinkCaller(PolicyCaller(.user), program: path)
        case .policy(.application(let id)): return LinkCaller(PolicyCaller(.sandboxed, name: id))
        case .policy: throw LinkSyntaxError("the caller is one program")
        }
    }
}
