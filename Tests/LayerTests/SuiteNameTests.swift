import FoundationEssentials
import Testing

/// The names of the suites, which filters and documents use without a module.
@Suite struct SuiteNameTests {
    private struct Suite {
        let name: String
        let module: String
        let file: String
    }

    private let suites: [Suite]

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        var suites: [Suite] = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted()
        where file.hasSuffix(".swift") {
            let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
            // A type is a suite by its attribute or by its name.
            let declarations = /(@Suite[^{]*?)?\b(?:struct|class|actor|enum) (\w+)/.anchorsMatchLineEndings()
            for match in text.matches(of: declarations) where match.1 != nil || match.2.hasSuffix("Tests") {
                let module = String(file.prefix { $0 != "/" })
                suites.append(Suite(name: String(match.2), module: module, file: file))
            }
        }
        self.suites = suites
    }

    @Test func suitesHaveOneNameEach() {
        #expect(suites.count > 200)
        for (name, same) in Dictionary(grouping: suites, by: \.name) {
            #expect(same.count == 1, "\(name) is in \(same.map(\.file).joined(separator: " and "))")
        }
    }

    /// A filter for a module would run such a suite, too.
    @Test func noSuiteHasTheNameOfAnotherModule() {
        let modules = Set(suites.map(\.module))
        for suite in suites where modules.contains(suite.name) {
            #expect(suite.module == suite.name, "\(suite.file)")
        }
    }
}
