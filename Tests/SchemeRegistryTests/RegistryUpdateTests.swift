import TestSupport
import Testing

@testable import SchemeRegistry

/// A registry that is updated with other handlers equals a new registry with these handlers.
@Suite struct RegistryUpdateTests {
    private static let ids = (0..<12).map { "com.acme.h\($0)" }
    private static let schemes = ["a", "b", "c", "d", "e"]
    private static let patterns = ["acme.com", "www.acme.com", "*.acme.com", "*.com"]
    private static let hosts = [nil, "acme.com", "www.acme.com", "x.acme.com", "other.com", "elsewhere"]

    private static func handler(_ generator: inout SeededGenerator) throws -> Handler {
        var manifest = HandlerManifest(
            identifier: try BundleIdentifier(ids[generator.count(ids.count - 1)]),
            executable: .name("x")
        )
        manifest.urlTypes = try generator.list { generator in
            URLType(
                schemes: try (0...generator.count(2)).map { _ in
                    try Scheme(schemes[generator.count(schemes.count - 1)])
                },
                hosts: try generator.maybe { generator in
                    try (0...generator.count(1)).map { _ in
                        try HostPattern(patterns[generator.count(patterns.count - 1)])
                    }
                }
            )
        }
        manifest.isFixed = generator.count(5) == 0
        let precedence = generator.count(2)
        let entry = "/\(precedence)/\(manifest.identifier).\(generator.count(1)).plist"
        return Handler(
            manifest: manifest,
            path: entry,
            entry: entry,
            program: .nameOnPath("x"),
            scope: precedence == 0 ? .user : .system,
            precedence: precedence,
            registrationDate: RegistrationDate(nanoseconds: Int64(generator.count(3)))
        )
    }

    private func expectEqual(_ updated: Registry, _ made: Registry) throws {
        #expect(updated.handlers == made.handlers)
        #expect(updated.diagnostics == made.diagnostics)
        #expect(updated.schemes == made.schemes)
        #expect(updated.conflicts == made.conflicts)
        for id in try Self.ids.map(BundleIdentifier.init) { #expect(updated[id] == made[id]) }
        for scheme in try Self.schemes.map({ try Scheme($0) }) {
            #expect(updated.handlers(claiming: scheme) == made.handlers(claiming: scheme))
            for host in Self.hosts {
                #expect(updated.handler(for: scheme, host: host) == made.handler(for: scheme, host: host))
                #expect(updated.candidates(for: scheme, host: host) == made.candidates(for: scheme, host: host))
            }
        }
    }

    /// One handler after the other is added, or updated where it has to do with others.
    @Test(arguments: 0..<20 as Range<UInt64>) func registryWithInsertedHandlersEqualsANewRegistry(
        _ seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        var handlers: [Handler] = []
        var registry = Registry(handlers: [])
        var inserted = 0
        for _ in 0..<12 {
            let new = try Self.handler(&generator)
            handlers.removeAll { $0.entry == new.entry }
            handlers.append(new)
            let before = registry
            if registry.insert(new) { inserted += 1 } else { _ = registry.update(handlers: handlers, diagnostics: []) }
            try expectEqual(registry, Registry(handlers: handlers))
            #expect(before.handlers.count <= registry.handlers.count + 1)
        }
        #expect(inserted > 0)
    }

    @Test(arguments: 0..<20 as Range<UInt64>) func updatedRegistryEqualsANewRegistry(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var handlers: [Handler] = []
        var registry = Registry(handlers: [])
        for _ in 0..<40 {
            for _ in 0...generator.count(2) {
                if generator.count(2) == 0, !handlers.isEmpty {
                    handlers.remove(at: generator.count(handlers.count - 1))
                } else {
                    let new = try Self.handler(&generator)
                    handlers.removeAll { $0.entry == new.entry }
                    handlers.append(new)
                }
            }
            let before = registry
            let changed = registry.update(handlers: handlers.shuffled(using: &generator), diagnostics: [])
            let made = Registry(handlers: handlers)
            try expectEqual(registry, made)
            // The registry from before the update keeps its contents. The changes include every scheme whose first
            // handler is another one.
            let schemes = try Self.schemes.map { try Scheme($0) }
            let elsewhere = schemes.filter {
                before.handlers(claiming: $0).first?.id != made.handlers(claiming: $0).first?.id
            }
            #expect(registry.schemes(Set(changed.flatMap(\.schemes)), withWinnersOtherThanIn: before) == elsewhere)
        }
    }

    @Test func unchangedHandlersCauseNoChange() throws {
        var generator = SeededGenerator(seed: 99)
        let handlers = try (0..<30).map { _ in try Self.handler(&generator) }
        var registry = Registry(handlers: handlers)
        let unchanged = registry.update(handlers: handlers.reversed(), diagnostics: [])
        #expect(unchanged.isEmpty)
        let all = registry.handlers
        let removed = registry.update(handlers: [], diagnostics: [])
        #expect(removed == all)
        try expectEqual(registry, Registry(handlers: []))
    }
}
