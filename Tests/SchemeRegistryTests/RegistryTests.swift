import Testing
import UserFiles

@testable import SchemeRegistry

struct RegistryTests {
    private let scheme: Scheme

    init() throws {
        scheme = try Scheme("todolist")
    }

    private func handler(
        _ id: String,
        types: [URLType]? = nil,
        hosts: [String]? = nil,
        isFixed: Bool = false,
        precedence: Int = 0,
        date: Int64 = 0
    ) throws -> Handler {
        var manifest = HandlerManifest(identifier: try BundleIdentifier(id), executable: .name("x"))
        manifest.urlTypes = try types ?? [URLType(schemes: [scheme], hosts: hosts?.map { try HostPattern($0) })]
        manifest.isFixed = isFixed
        return Handler(
            manifest: manifest,
            path: "/\(precedence)/\(id).plist",
            entry: "/\(precedence)/\(id).plist",
            program: .nameOnPath("x"),
            scope: isFixed ? .system : .user,
            precedence: precedence,
            registrationDate: RegistrationDate(nanoseconds: date)
        )
    }

    /// Returns the ids in order, each with its outcome as `=`, `+rule` or `-rule`.
    private func order(_ handlers: [Handler], host: String? = nil) -> [String] {
        let registry = Registry(handlers: handlers)
        let candidates = registry.candidates(for: scheme, host: host)
        #expect(registry.handler(for: scheme, host: host) == candidates.first?.claimant.handler)
        return candidates.map { candidate in
            switch candidate.outcome {
            case .unopposed: "\(candidate.claimant)="
            case .won(let rule): "\(candidate.claimant)+\(rule)"
            case .lost(let winner, let rule):
                winner == candidates[0].claimant.id ? "\(candidate.claimant)-\(rule)" : "lost to a loser"
            case .passed, .requested, .notRequested: "nothing was asked for or passed on"
            }
        }
    }

    @Test func claimOnHostsThatTakesURLsIsAWarning() throws {
        let owner = try handler("com.acme.owner")
        let taker = try handler("com.evil.taker", hosts: ["*.acme.com", "b.org", "c.org", "d.org"])
        let before = Registry(handlers: [owner])
        let after = Registry(handlers: [owner, taker])
        let warnings = after.hosts(takenBy: taker, from: before)
        #expect(warnings.map(\.key) == ["CFBundleURLTypes[0].OUHosts"])
        let hosts = "todolist://*.acme.com, todolist://b.org, todolist://c.org and 1 more hosts"
        let remedy = "'openurl default todolist com.acme.owner' gives them back"
        #expect(warnings.map(\.reason) == ["takes \(hosts) from com.acme.owner; \(remedy)"])
        #expect(after.hosts(takenBy: taker, from: after).isEmpty)
        #expect(after.hosts(takenBy: taker, from: Registry(handlers: [])).isEmpty)
    }

    @Test func unclaimedSchemeHasNoHandler() throws {
        let registry = Registry(handlers: [try handler("a.a")])
        #expect(try registry.handler(for: Scheme("other"), host: nil) == nil)
        #expect(try registry.candidates(for: Scheme("other"), host: nil).isEmpty)
    }

    @Test func onlyClaimantIsTheHandler() throws {
        #expect(order([try handler("a.a")]) == ["a.a="])
    }

    @Test func fixedHandlerComesFirst() throws {
        let fixed = try handler("z.z", hosts: ["*.acme.com"], isFixed: true, precedence: 9, date: 9)
        let other = try handler("a.a", hosts: ["www.acme.com"])
        #expect(
            order([other, fixed], host: "www.acme.com") == [
                "z.z+\(WinningRule.fixedScheme)", "a.a-\(WinningRule.fixedScheme)",
            ]
        )
    }

    @Test func fixedHandlerWithHostsTakesOnlyItsHosts() throws {
        let fixed = try handler("z.z", hosts: ["maps.acme.com"], isFixed: true, precedence: 9)
        let other = try handler("a.a")
        #expect(order([other, fixed], host: "www.acme.com") == ["a.a="])
        #expect(order([other, fixed]) == ["a.a="])
        #expect(order([other, fixed], host: "MAPS.acme.com").first == "z.z+\(WinningRule.fixedScheme)")
    }

    @Test func fixedHandlersAreOrderedByHost() throws {
        let browser = try handler("a.browser", isFixed: true)
        let maps = try handler("b.maps", hosts: ["maps.acme.com"], isFixed: true, precedence: 1)
        #expect(order([browser, maps], host: "www.acme.com") == ["a.browser="])
        #expect(
            order([browser, maps], host: "maps.acme.com") == [
                "b.maps+\(WinningRule.host)", "a.browser-\(WinningRule.host)",
            ]
        )
        #expect(Registry(handlers: [browser, maps]).conflicts.isEmpty)
    }

    @Test func longestHostComesFirst() throws {
        let handlers = [
            try handler("a.any"), try handler("b.wide", hosts: ["*.com"]), try handler("c.acme", hosts: ["*.acme.com"]),
            try handler("d.exact", hosts: ["www.acme.com"], precedence: 5, date: 5),
        ]
        #expect(
            order(handlers, host: "www.acme.com") == [
                "d.exact+\(WinningRule.host)", "c.acme-\(WinningRule.host)", "b.wide-\(WinningRule.host)",
                "a.any-\(WinningRule.host)",
            ]
        )
        #expect(order(handlers, host: "acme.com").first == "b.wide+\(WinningRule.host)")
        #expect(order(handlers, host: "evilacme.com").first == "b.wide+\(WinningRule.host)")
        #expect(order(handlers, host: "acme.org") == ["a.any="])
        #expect(order(handlers, host: "") == ["a.any="])
        #expect(order(handlers) == ["a.any="])
    }

    @Test func handlersOfOtherHostsAreNotCandidates() throws {
        #expect(order([try handler("a.a", hosts: ["acme.com"])], host: "other.org") == [])
        #expect(order([try handler("a.a", hosts: ["acme.com"])]) == [])
    }

    @Test func handlersAreOrderedByDirectoryThenDateThenID() throws {
        let handlers = [
            try handler("a.a", precedence: 1, date: 1), try handler("b.b", date: 3), try handler("d.d", date: 2),
            try handler("c.c", date: 2),
        ]
        #expect(
            order(handlers) == [
                "c.c+\(WinningRule.identifier)", "d.d-\(WinningRule.identifier)", "b.b-\(WinningRule.registrationDate)",
                "a.a-\(WinningRule.directory)",
            ]
        )
        #expect(order(handlers) == order(handlers.reversed()))
    }

    @Test func handlerIsOneCandidate() throws {
        let twice = [
            URLType(schemes: [scheme, scheme]), URLType(schemes: [scheme], hosts: [try HostPattern("*.acme.com")]),
            URLType(schemes: [scheme]),
        ]
        let handlers = [try handler("b.b", types: twice), try handler("a.a")]
        #expect(
            order(handlers, host: "www.acme.com") == ["b.b+\(WinningRule.host)", "a.a-\(WinningRule.host)"]
        )
        #expect(order(handlers) == ["a.a+\(WinningRule.identifier)", "b.b-\(WinningRule.identifier)"])
        #expect(handlers[0].schemes == [scheme])
    }

    @Test func handlersOfASchemeAreListed() throws {
        let registry = Registry(handlers: [
            try handler("a.hosted", hosts: ["acme.com"]), try handler("b.late", date: 2),
            try handler("c.early", date: 1),
        ])
        #expect(registry.handlers(claiming: scheme).map(\.id.rawValue) == ["c.early", "b.late", "a.hosted"])
        #expect(registry.schemes == [scheme])
    }

    @Test(
        arguments: [
            ([nil, nil], ["a.a", "b.b"]), ([nil, ["acme.com"]], ["a.a", "b.b"]),
            ([["acme.com"], ["ACME.com"]], ["a.a", "b.b"]), ([["*.acme.com"], ["www.acme.com"]], ["a.a", "b.b"]),
            ([["*.acme.com"], ["*.www.acme.com"]], ["a.a", "b.b"]), ([["*.acme.com"], ["acme.com"]], []),
            ([["acme.com"], ["acme.org"]], []), ([["acme.com", "*.acme.com"]], []),
            ([["acme.com"], ["acme.org"], ["*.org"]], ["b.b", "c.c"]),
        ] as [([[String]?], [String])]
    )
    func conflictsAreReported(_ hosts: [[String]?], _ expected: [String]) throws {
        let handlers = try zip(["a.a", "b.b", "c.c"], hosts).map { try handler($0, hosts: $1) }
        let conflicts = Registry(handlers: handlers).conflicts
        #expect(conflicts.map { $0.handlers.map(\.rawValue) } == (expected.isEmpty ? [] : [expected]))
        #expect(conflicts.allSatisfy { $0.scheme == scheme })
    }

    @Test func candidatesExplainTheirRank() throws {
        let handlers = [try handler("a.any"), try handler("b.hosted", hosts: ["*.acme.com"])]
        #expect(
            Registry(handlers: handlers).candidates(for: scheme, host: "www.acme.com").map(\.description) == [
                "b.hosted (*.acme.com) wins: the longest matching host comes first",
                "a.any loses to b.hosted: the longest matching host comes first",
            ]
        )
        #expect(
            Registry(handlers: handlers).candidates(for: scheme, host: nil).map(\.description) == [
                "a.any wins: nothing else claims this URL"
            ]
        )
    }

    @Test func missingNamesHaveFallbacks() throws {
        var manifest = HandlerManifest(identifier: try BundleIdentifier("a.a"), executable: nil)
        func name() -> String {
            Handler(
                manifest: manifest,
                path: "/a",
                entry: "/a",
                program: nil,
                scope: .user,
                precedence: 0,
                registrationDate: RegistrationDate(nanoseconds: 0)
            ).name
        }
        #expect(name() == "a.a")
        manifest.name = "Short"
        #expect(name() == "Short")
        manifest.displayName = "Display"
        #expect(name() == "Display")
        manifest.displayName = ""
        #expect(name() == "Short")
    }

    @Test func registryServesManySchemes() throws {
        let handlers = try (0..<1000).map { number in
            let schemes = try (0..<100).map { try Scheme("s\(number)-\($0)") }
            return try handler("com.acme.h\(number)", types: [URLType(schemes: schemes)])
        }
        let registry = Registry(handlers: handlers)
        #expect(registry.schemes.count == 100_000)
        #expect(try registry.handler(for: Scheme("S999-99"), host: "acme.com")?.id.rawValue == "com.acme.h999")
        #expect(registry.conflicts.isEmpty)
    }
}
