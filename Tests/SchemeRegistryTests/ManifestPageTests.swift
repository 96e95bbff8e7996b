import FoundationEssentials
import Testing
import UserFiles

@testable import SchemeRegistry

/// `openurl-manifest(5)` describes the keys that the registry knows, and its examples have no mistakes.
@Suite(.timeLimit(.minutes(1))) struct ManifestPageTests {
    private let page: String

    init() throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        page = try String(contentsOfFile: "\(root)/Packaging/openurl-manifest.5", encoding: .utf8)
    }

    @Test func everyKnownKeyIsDescribed() {
        let described = Set(
            page.split(separator: "\n").filter { $0.hasPrefix(".It Li ") || $0.hasPrefix(".Li public.") }
                .flatMap { $0.split(separator: " ").map(String.init) }
        )
        for place in ManifestKeys.allCases {
            for key in place.known { #expect(described.contains(key), "\(key)") }
        }
    }

    @Test func everyDescribedKeyIsKnown() {
        let known = Set(ManifestKeys.allCases.flatMap(\.known))
        for line in page.split(separator: "\n") where line.hasPrefix(".It Li ") {
            for key in line.dropFirst(".It Li ".count).split(separator: " ") where key != "," {
                #expect(known.contains(String(key)), "\(key)")
            }
        }
    }

    @Test func examplesHaveNoFindings() {
        let examples = page.components(separatedBy: ".Bd -literal -offset indent\n").dropFirst()
        #expect(examples.count == 2)
        for example in examples {
            let text = example.components(separatedBy: "\n.Ed\n")[0]
            #expect(ManifestCheck.findings(in: Array(text.utf8), of: "example").map(\.description) == [])
        }
    }
}

extension String {
    fileprivate func components(separatedBy separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
