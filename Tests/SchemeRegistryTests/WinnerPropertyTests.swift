import Desktop
import TestSupport
import Testing

@testable import SchemeRegistry

/// The order of the candidates does not depend on the order in which the registry found them.
struct WinnerPropertyTests {
    private static let hosts = [nil, "acme.com", "www.acme.com", "other.org"]
    private static let patterns = ["acme.com", "www.acme.com", "*.acme.com", "*.com"]

    private struct Desktop {
        let handlers: [Handler]
        let entries: DesktopEntries
        let associations: MimeAssociations
    }

    /// Returns a desktop with random handlers and applications of one scheme. Every property that the rules compare is
    /// random.
    private func desktop(_ generator: inout SeededGenerator) throws -> Desktop {
        let root = try TemporaryDirectory()
        var handlers: [Handler] = []
        for number in 0..<generator.count(5) {
            let hosts = generator.maybe { [Self.patterns[$0.count(3)]] }
            handlers.append(
                try .test(
                    "com.acme.h\(number)",
                    opening: ["web"],
                    hosts: hosts,
                    isFixed: generator.count(9) == 0,
                    precedence: generator.count(2),
                    date: Int64(generator.count(1))
                )
            )
        }
        var names: [String] = []
        for number in 0..<generator.count(5) {
            let place = ["home", "data1", "data2"][generator.count(2)]
            try root.writeEntry("\(place)/applications/a\(number).desktop", opening: ["web"])
            names.append("a\(number).desktop")
        }
        for handler in handlers where generator.count(1) == 0 {
            let mark = "X-OpenURL-Handler=\(handler.id)"
            try root.writeEntry("home/applications/\(handler.id).desktop", opening: ["web"], mark)
            names.append("\(handler.id).desktop")
        }
        func some(_ generator: inout SeededGenerator) -> String {
            names.shuffled(using: &generator).prefix(generator.count(2)).joined(separator: ";")
        }
        for file in ["config/mimeapps.list", "etc/mimeapps.list", "data1/applications/mimeapps.list"] {
            let (defaults, added, removed) = (some(&generator), some(&generator), some(&generator))
            // A default in every case would leave little for the other rules to decide.
            let text = associations(
                defaults: generator.count(3) == 0 ? ["web": defaults] : [:],
                added: ["web": added],
                removed: ["web": removed]
            )
            try root.write(text, to: file)
        }
        return Desktop(
            handlers: handlers,
            entries: DesktopEntries(loading: root.desktop()),
            associations: MimeAssociations(loading: root.desktop())
        )
    }

    private func registry(_ handlers: [Handler], _ desktop: Desktop) -> Registry {
        Registry(
            handlers: handlers,
            applications: DesktopApplications(entries: desktop.entries, associations: desktop.associations)
        )
    }

    @Test(arguments: 0..<150 as Range<UInt64>) func orderIsTotal(_ seed: UInt64) throws {
        let scheme = try Scheme("web")
        var generator = SeededGenerator(seed: seed)
        let desktop = try desktop(&generator)
        let first = registry(desktop.handlers, desktop)
        let orders = Self.hosts.map { first.candidates(for: scheme, host: $0) }
        for candidates in orders {
            // Each candidate appears once. The winner comes first, and all others lose to the winner.
            #expect(Set(candidates.map(\.claimant)).count == candidates.count)
            #expect(candidates.map(\.outcome.wins) == candidates.indices.map { $0 == 0 })
            for candidate in candidates.dropFirst() {
                guard case .lost(let winner, _) = candidate.outcome else { continue }
                #expect(winner == candidates[0].claimant.id)
            }
            try expectRules(candidates, first, scheme)
        }
        for _ in 0..<10 {
            let shuffled = registry(desktop.handlers.shuffled(using: &generator), desktop)
            #expect(Self.hosts.map { shuffled.candidates(for: scheme, host: $0) } == orders)
            for (host, candidates) in zip(Self.hosts, orders) {
                #expect(shuffled.winner(for: scheme, host: host) == candidates.first?.claimant)
            }
            #expect(shuffled.claimants(of: scheme) == first.claimants(of: scheme))
        }
    }

    /// Expects that the rule of each loss is true for the winner and the loser.
    private func expectRules(_ candidates: [Candidate], _ registry: Registry, _ scheme: Scheme) throws {
        guard let winner = candidates.first else { return }
        let places = registry.applications.places(for: scheme.mimeType, with: registry.handlers(claiming: scheme))
        for loser in candidates.dropFirst() {
            guard case .lost(_, let rule) = loser.outcome else { continue }
            let (first, second) = (winner.claimant, loser.claimant)
            switch rule {
            case .fixedScheme: #expect(first.isFixed && !second.isFixed)
            case .claim: #expect(registry.runningClaimant(of: scheme)?.id.rawValue == first.id)
            case .userDefault:
                #expect(places.contains { $0.claimant == first && $0.reason == .default })
            case .host: #expect(winner.host != nil && winner.host != loser.host)
            case .directory:
                let directories = [first, second].compactMap { $0.handler?.precedence }
                #expect(directories.count == 2 && directories[0] < directories[1])
            case .association: #expect(registry.applications.concern(scheme))
            case .registrationDate:
                let dates = [first, second].compactMap { $0.handler?.registrationDate }
                #expect(dates.count == 2 && dates[0] < dates[1])
            case .identifier: #expect(first.id < second.id)
            case .fileScheme, .fileType, .rank: Issue.record("a rule about files decides about a URL")
            }
        }
    }

    /// Without applications the rules for each pair of handlers determine the winner.
    @Test(arguments: 0..<40 as Range<UInt64>) func orderOfHandlersAgreesWithEachPair(_ seed: UInt64) throws {
        let scheme = try Scheme("web")
        var generator = SeededGenerator(seed: seed)
        let handlers = try desktop(&generator).handlers
        for host in Self.hosts {
            let order = Registry(handlers: handlers).candidates(for: scheme, host: host).map(\.claimant.id)
            for (index, id) in order.enumerated() {
                for other in order[(index + 1)...] {
                    let pair = handlers.filter { [id, other].contains($0.id.rawValue) }
                    let ofPair = Registry(handlers: pair).candidates(for: scheme, host: host)
                    #expect(ofPair.map(\.claimant.id) == [id, other])
                }
            }
        }
    }
}
