import FoundationEssentials
import Testing

/// The page that names the tests of each rule.
@Suite struct ConformanceTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Returns the tests that a text names as `Suite/test`.
    private func tests(namedIn text: String) -> [(suite: String, test: String)] {
        text.split(separator: "`").compactMap { word in
            let parts = word.split(separator: "/").map(String.init)
            return parts.count == 2 && parts[0].hasSuffix("Tests") ? (parts[0], parts[1]) : nil
        }
    }

    @Test func everyTestOfThePageExists() throws {
        let page = try String(contentsOf: Self.root.appending(path: "Documentation/Conformance.md"), encoding: .utf8)
        let named = tests(namedIn: page)
        #expect(named.count > 50)
        let folder = Self.root.appending(path: "Tests")
        var sources: [String] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".swift") {
            sources.append(try String(contentsOf: folder.appending(path: path), encoding: .utf8))
        }
        for (suite, test) in named {
            let exists = sources.contains { $0.contains(" \(suite) {") && $0.contains("func \(test)(") }
            #expect(exists, "\(suite)/\(test)")
        }
    }
}
