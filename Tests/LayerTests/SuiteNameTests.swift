import FoundationEssentials
import Testing

/// The names of the suites, which filters and documents use without a module, and their time limits.
@Suite(.timeLimit(.minutes(10))) struct SuiteNameTests {
    private struct Suite {
        let name: String
        let module: String
        let file: String
        /// The attribute `@Suite` with its traits; empty if there is none.
        let attribute: String
    }

    private let suites: [Suite]
    /// The types with a declaration or an extension in a file that awaits anything.
    private let asynchronousTypes: Set<String>

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        var suites: [Suite] = []
        var asynchronousTypes: Set<String> = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: root.path).sorted()
        where file.hasSuffix(".swift") {
            let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
            // A type is a suite by its attribute or by its name.
            let declarations = /(@Suite[^{]*?)?\b(?:struct|class|actor|enum) (\w+)/.anchorsMatchLineEndings()
            if text.contains("await ") {
                asynchronousTypes.formUnion(text.matches(of: declarations).map { String($0.2) })
                asynchronousTypes.formUnion(text.matches(of: /\bextension (\w+)/).map { String($0.1) })
            }
            for match in text.matches(of: declarations) where match.1 != nil || match.2.hasSuffix("Tests") {
                suites.append(
                    Suite(
                        name: String(match.2),
                        module: String(file.prefix { $0 != "/" }),
                        file: file,
                        attribute: String(match.1 ?? "")
                    )
                )
            }
        }
        self.suites = suites
        self.asynchronousTypes = asynchronousTypes
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

    /// Otherwise, an answer that is lost would keep all tests waiting.
    @Test func suitesThatWaitHaveATimeLimit() {
        for suite in suites where asynchronousTypes.contains(suite.name) {
            #expect(suite.attribute.contains(".timeLimit("), "\(suite.name) in \(suite.file)")
        }
    }
}
