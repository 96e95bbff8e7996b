import Foundation
import Testing

/// The examples of RFC 1808 sections 5.1 and 5.2.
struct RFCExample: Decodable, Sendable, CustomTestStringConvertible {
    let section: String
    let base: String
    let relative: String
    let expected: String

    var testDescription: String { "\(section): \(relative)" }

    static let all: [RFCExample] = loadCases("rfc1808-examples")
}

/// Cases from the tests that `NSURL` had while it followed RFC 1808.
struct NSURLCase: Decodable, Sendable, CustomTestStringConvertible {
    struct Parts: Decodable, Sendable, Equatable {
        var scheme: String?
        var user: String?
        var password: String?
        var host: String?
        var port: Int?
        var path: String?
        var query: String?
        var fragment: String?
        var absoluteString: String
    }

    let title: String
    let input: String
    let base: String?
    let expected: Parts?

    var testDescription: String { title }

    static let all: [NSURLCase] = loadCases("nsurl-sample")
}

/// A JSON file of test cases in the test bundle.
private struct CaseFile<Case: Decodable>: Decodable {
    let cases: [Case]
}

/// Loads a file of cases. A missing or malformed file fails the test that asked for the file.
private func loadCases<Case: Decodable>(_ name: String) -> [Case] {
    do {
        let url = Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Cases")
        return try JSONDecoder().decode(CaseFile<Case>.self, from: Data(contentsOf: #require(url))).cases
    } catch {
        Issue.record(error, "cannot load \(name).json")
        return []
    }
}
