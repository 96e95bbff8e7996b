import Foundation
import RFC1808
import URLCorpus

/// Compares `GenericURL` with Foundation's `URL` and `URLComponents`, with a `memchr` pass over the same bytes, and
/// with any installed libraries of other projects.
///
/// Because absolute times mean little on a shared machine, the result is a ratio within each group. The arguments are
/// the number of rounds (101 by default), a prefix of the names of the subjects to measure, and the number of URLs
/// (4,096).
@main
struct CompareURL {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        let corpus = URLCorpus(count: arguments.dropFirst(2).first.flatMap(Int.init) ?? 4_096)
        let rounds = arguments.first.flatMap(Int.init) ?? 101
        let only = arguments.dropFirst().first
        let peers = peers()
        let subjects = try (subjects(corpus) + webSubjects(corpus, peers)).filter { subject in
            only.map { subject.name.hasPrefix($0) } ?? true
        }
        let results = try measure(subjects, rounds: rounds)

        let length = URLCorpus.meanLength(of: corpus.urls)
        print("\(corpus.urls.count) URLs, mean \(length) bytes; \(rounds) rounds, medians")
        let foundation = ["floor: ", "parse: ", "parse+components: ", "resolve: "]
        printTable(results, groups: foundation, reference: "URL", "Foundation URL")
        print("\n\(corpus.webURLs.count) URLs of the web, mean \(URLCorpus.meanLength(of: corpus.webURLs)) bytes")
        let reference = peers.first?.name ?? "URL"
        printTable(results, groups: ["web, parse: ", "web, parse+components: "], reference: reference, reference)
    }

    /// Returns the libraries that are installed. For each of them, `make bench` builds a shared object next to this
    /// program.
    private static func peers() -> [Peer] {
        let directory = CommandLine.arguments[0].split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return ["ada", "uriparser"].compactMap { name in
            let peer = Peer(path: (directory + ["peers", name + ".so"]).joined(separator: "/"))
            if peer == nil { print("\(name) is not installed, so the table has no line for it.") }
            return peer
        }
    }

    private static func printTable(
        _ results: [String: Measurement],
        groups: [String],
        reference: String,
        _ title: String
    ) {
        print("subject                                               ns/URL   allocations   x \(title)")
        for group in groups {
            let reference = results[group + reference]
            for name in results.keys.filter({ $0.hasPrefix(group) }).sorted() {
                guard let result = results[name] else { continue }
                let ratio = reference.map { String(format: "%.3f", result.ratio(to: $0)) } ?? "-"
                let padded = name.padding(toLength: 53, withPad: " ", startingAt: 0)
                let numbers = String(format: "%7.1f %13.2f   ", result.medianNanoseconds, result.allocations)
                print(padded + numbers + ratio)
            }
        }
    }

    private static func subject(
        _ name: String,
        _ inputs: [String],
        _ body: @escaping (String) throws -> Int
    ) -> Subject {
        Subject(name: name, inputs: inputs.count) {
            var sum = 0
            for index in inputs.indices { sum &+= try body(inputs[index]) }
            return sum
        }
    }

    /// Returns the subjects that are shared with other projects' libraries: all of these read the URLs of the web in
    /// the same way.
    private static func webSubjects(_ corpus: URLCorpus, _ peers: [Peer]) throws -> [Subject] {
        let urls = corpus.webURLs
        let bytes = urls.map { Array($0.utf8) }
        let texts = urls.map { $0.utf8CString }

        func subject(_ name: String, _ parse: @escaping Peer.Parse) -> Subject {
            Subject(name: name, inputs: texts.count) {
                var sum = 0
                for text in texts {
                    sum &+= text.withUnsafeBufferPointer { text in
                        text.baseAddress.map { parse($0, text.count - 1) } ?? 0
                    }
                }
                return sum
            }
        }
        func fromBytes(_ name: String, _ size: @escaping (GenericURL) -> Int) -> Subject {
            Subject(name: name, inputs: bytes.count) {
                var sum = 0
                for url in bytes { sum &+= size(try GenericURL(utf8: url.span)) }
                return sum
            }
        }
        let subjects = [
            Self.subject("web, parse: GenericURL", urls) { try GenericURL($0).port == nil ? 1 : 2 },
            Self.subject("web, parse: URL", urls) { URL(string: $0) == nil ? 1 : 2 },
            Self.subject("web, parse+components: GenericURL", urls) { try byteCount(GenericURL($0)) },
            fromBytes("web, parse+components: GenericURL, from bytes", byteCount),
            Self.subject("web, parse+components: GenericURL, text", urls) { try textCount(GenericURL($0)) },
            fromBytes("web, parse+components: GenericURL, text, from bytes", textCount),
            Self.subject("web, parse+components: URL", urls) { URL(string: $0).map(size) ?? 0 },
        ]
        let expected = try urls.reduce(0) { try $0 + textCount(GenericURL($1)) }
        return try subjects
            + peers.flatMap { peer in
                let components = subject("web, parse+components: " + peer.name, peer.parseComponents)
                // If a library found other components, it would be doing other work.
                let sum = try components.run()
                guard sum == expected else { throw Disagreement(peer: peer.name, bytes: sum, expected: expected) }
                return [subject("web, parse: " + peer.name, peer.parse), components]
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

    /// Counts the bytes of all components like `Peers/peer.h`, for which the `;` is part of the path.
    private static func byteCount(_ url: GenericURL) -> Int {
        var sum = url.port == nil ? 0 : 1
        sum += url.bytes.scheme?.count ?? 0
        sum += url.bytes.user?.count ?? 0
        sum += url.bytes.password?.count ?? 0
        sum += url.bytes.host?.count ?? 0
        sum += url.bytes.path.count
        sum += url.bytes.parameters.map { $0.count + 1 } ?? 0
        sum += url.bytes.query?.count ?? 0
        sum += url.bytes.fragment?.count ?? 0
        return sum
    }

    /// Counts the same bytes, from the components as text.
    private static func textCount(_ url: GenericURL) -> Int {
        var sum = url.port == nil ? 0 : 1
        sum += url.scheme?.utf8.count ?? 0
        sum += url.user?.utf8.count ?? 0
        sum += url.password?.utf8.count ?? 0
        sum += url.host?.utf8.count ?? 0
        sum += url.path.utf8.count
        sum += url.parameters.map { $0.utf8.count + 1 } ?? 0
        sum += url.query?.utf8.count ?? 0
        sum += url.fragment?.utf8.count ?? 0
        return sum
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

/// Thrown if a library finds other components than `GenericURL`.
struct Disagreement: Error {
    let peer: String
    let bytes: Int
    let expected: Int
}
