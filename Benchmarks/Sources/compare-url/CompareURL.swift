import Foundation
import RFC1808
import URLCorpus

/// Compares `GenericURL` with Foundation's `URL` and `URLComponents`, and with a `memchr` pass over the same bytes.
///
/// Absolute times on a shared machine mean little, so the result is the ratio to Foundation. The arguments are the
/// number of rounds (101 by default) and a prefix of the names of the subjects to measure.
@main
struct CompareURL {
    static func main() throws {
        let corpus = URLCorpus(count: 4_096)
        let arguments = CommandLine.arguments.dropFirst()
        let rounds = arguments.first.flatMap(Int.init) ?? 101
        let only = arguments.dropFirst().first
        let subjects = try subjects(corpus).filter { subject in only.map { subject.name.hasPrefix($0) } ?? true }
        let results = try measure(subjects, rounds: rounds)

        print("\(corpus.urls.count) URLs, mean \(Int(corpus.meanLength.rounded())) bytes; \(rounds) rounds, medians")
        print("subject                              ns/URL   allocations   x Foundation URL")
        for group in ["floor: ", "parse: ", "parse+components: ", "resolve: "] {
            let names = results.keys.filter { $0.hasPrefix(group) }.sorted()
            let reference = results[group + "URL"]
            for name in names {
                guard let result = results[name] else { continue }
                let ratio = reference.map { String(format: "%.3f", result.ratio(to: $0)) } ?? "-"
                let padded = name.padding(toLength: 36, withPad: " ", startingAt: 0)
                let numbers = String(format: "%7.1f %13.2f   ", result.medianNanoseconds, result.allocations)
                print(padded + numbers + ratio)
            }
        }
    }

    private static func subjects(_ corpus: URLCorpus) throws -> [Subject] {
        let urls = corpus.urls
        let bytes = urls.map { Array($0.utf8) }
        let references = corpus.references
        let base = try GenericURL(corpus.base)
        let parsedReferences = try references.map { try GenericURL($0) }
        guard let foundationBase = URL(string: corpus.base) else { return [] }

        let foundationReferences = references.compactMap { URL(string: $0, relativeTo: foundationBase) }

        func subject(_ name: String, _ inputs: [String], _ body: @escaping (String) throws -> Int) -> Subject {
            Subject(name: name, inputs: inputs.count) {
                var sum = 0
                for input in inputs { sum &+= try body(input) }
                return sum
            }
        }
        return [
            Subject(name: "floor: memchr", inputs: bytes.count) {
                var sum = 0
                for url in bytes {
                    sum &+= url.withUnsafeBytes { bytes in
                        bytes.baseAddress.map { memchr($0, 1, bytes.count) == nil ? 1 : 0 } ?? 0
                    }
                }
                return sum
            },
            subject("parse: GenericURL", urls) { try GenericURL($0).port == nil ? 1 : 2 },
            Subject(name: "parse: GenericURL, from bytes", inputs: bytes.count) {
                var sum = 0
                for url in bytes { sum &+= try GenericURL(utf8: url.span).port == nil ? 1 : 2 }
                return sum
            },
            subject("parse: URL", urls) { URL(string: $0) == nil ? 1 : 2 },
            subject("parse: URLComponents", urls) { URLComponents(string: $0) == nil ? 1 : 2 },
            subject("parse+components: GenericURL", urls) { try size(GenericURL($0)) },
            subject("parse+components: URL", urls) { URL(string: $0).map(size) ?? 0 },
            subject("parse+components: URLComponents", urls) { URLComponents(string: $0).map(size) ?? 0 },
            subject("resolve: GenericURL", references) {
                try base.resolving(reference: $0).description.utf8.count
            },
            Subject(name: "resolve: GenericURL, parsed before", inputs: references.count) {
                var sum = 0
                for reference in parsedReferences {
                    sum &+= reference.resolved(against: base).description.utf8.count
                }
                return sum
            },
            subject("resolve: URL", references) {
                URL(string: $0, relativeTo: foundationBase)?.absoluteString.utf8.count ?? 0
            },
            Subject(name: "resolve: URL, parsed before", inputs: references.count) {
                var sum = 0
                for reference in foundationReferences {
                    sum &+= reference.absoluteURL.relativeString.utf8.count
                }
                return sum
            },
            subject("resolve: URLComponents", references) {
                URLComponents(string: $0)?.url(relativeTo: foundationBase)?.absoluteString.utf8.count ?? 0
            },
        ]
    }

    private static func size(_ url: GenericURL) -> Int {
        (url.scheme?.utf8.count ?? 0) + (url.user?.utf8.count ?? 0) + (url.password?.utf8.count ?? 0)
            + (url.host?.utf8.count ?? 0) + Int(url.port ?? 0) + url.path.utf8.count
            + (url.parameters?.utf8.count ?? 0) + (url.query?.utf8.count ?? 0) + (url.fragment?.utf8.count ?? 0)
    }

    private static func size(_ url: URL) -> Int {
        (url.scheme?.utf8.count ?? 0) + (url.user?.utf8.count ?? 0) + (url.password?.utf8.count ?? 0)
            + (url.host?.utf8.count ?? 0) + (url.port ?? 0) + url.path.utf8.count + (url.query?.utf8.count ?? 0)
            + (url.fragment?.utf8.count ?? 0)
    }

    private static func size(_ url: URLComponents) -> Int {
        (url.scheme?.utf8.count ?? 0) + (url.percentEncodedUser?.utf8.count ?? 0)
            + (url.percentEncodedPassword?.utf8.count ?? 0) + (url.percentEncodedHost?.utf8.count ?? 0)
            + (url.port ?? 0) + url.percentEncodedPath.utf8.count + (url.percentEncodedQuery?.utf8.count ?? 0)
            + (url.percentEncodedFragment?.utf8.count ?? 0)
    }
}
