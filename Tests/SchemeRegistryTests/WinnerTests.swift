import Desktop
import Glibc
import TestSupport
import Testing

@testable import SchemeRegistry

/// The choice between handlers and the desktop's applications, and the rule behind it.
struct WinnerTests {
    private let root: TemporaryDirectory
    private let scheme: Scheme

    init() throws {
        root = try TemporaryDirectory()
        scheme = try Scheme("web")
    }

    private func handler(
        _ id: String,
        hosts: [String]? = nil,
        program: Handler.Program? = .nameOnPath("x"),
        isFixed: Bool = false,
        precedence: Int = 0,
        date: Int64 = 0
    ) throws -> Handler {
        try .test(
            id,
            opening: ["web"],
            hosts: hosts,
            program: program,
            isFixed: isFixed,
            precedence: precedence,
            date: date
        )
    }

    private func registry(_ handlers: Handler...) -> Registry {
        Registry(handlers: handlers, applications: DesktopApplications(loading: root.desktop()))
    }

    private func writeEntry(_ name: String, in place: String = "home", _ line: String = "NoDisplay=false") throws {
        try root.writeEntry("\(place)/applications/\(name).desktop", opening: ["web"], line)
    }

    private func choose(_ ids: String) throws {
        try root.write(associations(defaults: ["web": ids]), to: "config/mimeapps.list")
    }

    /// Returns the ids in order without `.desktop`, each with its outcome as `=`, `+rule` or `-rule`.
    private func order(_ registry: Registry, host: String? = nil) -> [String] {
        let candidates = registry.candidates(for: scheme, host: host)
        #expect(registry.winner(for: scheme, host: host) == candidates.first?.claimant)
        return candidates.map { candidate in
            let id = candidate.claimant.id.replacing(".desktop", with: "")
            switch candidate.outcome {
            case .unopposed, .passed: return "\(id)="
            case .won(let rule): return "\(id)+\(name(rule))"
            case .lost(let winner, let rule):
                #expect(winner == candidates[0].claimant.id)
                return "\(id)-\(name(rule))"
            case .requested, .notRequested: return "nothing was asked for"
            }
        }
    }

    /// Returns the name of the case instead of its sentence.
    private func name(_ rule: WinningRule) -> String {
        switch rule {
        case .fixedScheme: "fixedScheme"
        case .claim: "claim"
        case .userDefault: "userDefault"
        case .host: "host"
        case .directory: "directory"
        case .association: "association"
        case .registrationDate: "registrationDate"
        case .identifier: "identifier"
        case .fileScheme: "fileScheme"
        case .fileType: "fileType"
        case .rank: "rank"
        }
    }

    // MARK: Rules

    @Test func claimOfARunningProgramComesFirst() throws {
        try writeEntry("a")
        try choose("a.desktop;")
        let plain = registry(try handler("com.x.host", hosts: ["x.com"]), try handler("com.x.other"))
        let build = TemporaryHandler(
            running: try handler("com.x.build", hosts: ["y.com"]),
            .path("/x"),
            claiming: [scheme],
            apartFrom: plain[try BundleIdentifier("com.x.host")]
        )
        let claimed = plain.adding([build])
        #expect(order(claimed, host: "x.com").first == "com.x.build+claim")
        #expect(order(claimed).first == "com.x.build+claim")
        #expect(order(claimed).dropFirst().allSatisfy { $0.hasSuffix("-claim") })
        // A program with the identifier of a handler takes its place, and keeps its other claims.
        let same = TemporaryHandler(
            running: try handler("com.x.host"),
            .path("/x"),
            claiming: [try Scheme("free")],
            apartFrom: plain[try BundleIdentifier("com.x.host")]
        )
        let replaced = plain.adding([same])
        #expect(replaced.handlers.map(\.id.rawValue) == ["com.x.other", "com.x.host"])
        #expect(replaced.winner(for: try Scheme("free"), host: nil)?.id == "com.x.host")
        #expect(replaced.claimants(of: scheme).contains("com.x.host"))
        #expect(replaced.publishedHandlers.map(\.id.rawValue) == ["com.x.other"])
        #expect(order(plain.adding([])) == order(plain))
    }

    @Test func fixedSchemeIsNotClaimed() throws {
        let fixed = registry(try handler("org.x.fixed", program: nil, isFixed: true, precedence: 1))
        let build = TemporaryHandler(
            running: try handler("com.x.build"),
            .path("/x"),
            claiming: [scheme],
            apartFrom: nil
        )
        let registry = fixed.adding([build])
        #expect(registry.runningClaimant(of: scheme) == nil)
        #expect(order(registry) == ["org.x.fixed="])
    }

    @Test func handlerForAWhileComesLast() throws {
        let handlers = registry(try handler("com.x.a", precedence: 3, date: 9))
        let temporary = TemporaryHandler(registering: try handler("com.w.a"))
        #expect(order(handlers.adding([temporary])) == ["com.x.a+directory", "com.w.a-directory"])
        try writeEntry("z")
        let order = order(registry().adding([temporary]))
        #expect(order == ["z+association", "com.w.a-association"])
        #expect(temporary.handler.isTemporary && temporary.claimed.isEmpty && temporary.handler.fileClaims.isEmpty)
    }

    @Test func unclaimedSchemeHasNoWinner() throws {
        #expect(order(registry()) == [])
        try writeEntry("a")
        let other = try Scheme("other")
        #expect(registry().winner(for: other, host: nil) == nil)
        #expect(registry().candidates(for: other, host: nil) == [])
        #expect(registry().claimants(of: other) == [])
    }

    @Test func onlyApplicationWins() throws {
        try writeEntry("a")
        #expect(order(registry()) == ["a="])
        #expect(order(registry(), host: "acme.com") == ["a="])
        #expect(registry().winner(for: scheme, host: nil)?.kind == .exec)
        try writeEntry("org.acme.App", "DBusActivatable=true")
        #expect(Set(registry().candidates(for: scheme, host: nil).map(\.claimant.kind)) == [.exec, .freedesktop])
    }

    @Test func applicationsFollowTheDesktopsOrder() throws {
        try writeEntry("b", in: "data1")
        try writeEntry("a", in: "data1")
        try writeEntry("c", in: "home")
        #expect(order(registry()) == ["c+association", "a-association", "b-association"])
        try root.write(associations(added: ["web": "b.desktop"]), to: "config/mimeapps.list")
        #expect(order(registry()) == ["b+association", "c-association", "a-association"])
    }

    /// The registry publishes every handler in the user's directory, where the desktop orders entries by name.
    @Test func entryOfAHandlerHasItsPlaceInTheDesktopsOrder() throws {
        try writeEntry("a")
        try writeEntry("z")
        try writeEntry("b", in: "data1")
        let expected = ["a+association", "h.h-association", "z-association", "b-association"]
        let handler = try handler("h.h", precedence: 2)
        #expect(order(registry(handler)) == expected)
        // The handler's entry is not read yet in the first case.
        try writeEntry("h.h", "X-OpenURL-Handler=h.h")
        #expect(order(registry(handler)) == expected)
    }

    @Test func entryOfASystemDirectoryKeepsThePlaceOfItsDirectory() throws {
        try writeEntry("h.h", in: "data1", "X-OpenURL-Handler=h.h")
        try writeEntry("i", in: "data1")
        try writeEntry("z")
        #expect(
            order(registry(try handler("h.h", precedence: 0))) == ["z+association", "h.h-association", "i-association"]
        )
    }

    /// The desktop does not offer the handler, because another program's file is in the place of the handler's entry.
    @Test func handlerWithoutAnEntryComesLast() throws {
        try writeEntry("z", in: "data2")
        try writeEntry("h.h", "Hidden=true")
        let handlers = [try handler("h.h"), try handler("h.other", precedence: 2)]
        #expect(
            order(registry(handlers[0], handlers[1])) == ["h.other+association", "z-association", "h.h-association"]
        )
    }

    @Test func matchingHostCountsBetweenHandlersOnly() throws {
        try writeEntry("i", in: "home")
        let handlers = [try handler("h.any"), try handler("j.hosted", hosts: ["*.acme.com"], precedence: 9)]
        let registry = registry(handlers[0], handlers[1])
        // The desktop opens every URL of the scheme with h.any.
        let hosted = ["j.hosted+association", "i-association", "h.any-host"]
        #expect(order(registry, host: "www.acme.com") == hosted)
        #expect(order(registry, host: "acme.org") == ["h.any+association", "i-association"])
        // The desktop opens every URL of the scheme with the application.
        try root.write(associations(added: ["web": "i.desktop"]), to: "config/mimeapps.list")
        #expect(
            order(self.registry(handlers[0], handlers[1]), host: "www.acme.com") == [
                "i+association", "j.hosted-association", "h.any-association",
            ]
        )
    }

    @Test func addedAssociationComesFirst() throws {
        try writeEntry("mine", in: "home")
        try writeEntry("theirs", in: "data2")
        try root.write(associations(added: ["web": "theirs.desktop;h.b.desktop"]), to: "config/mimeapps.list")
        let handlers = [try handler("h.a"), try handler("h.b", precedence: 2, date: 9)]
        #expect(
            order(registry(handlers[0], handlers[1])) == [
                "theirs+association", "h.b-association", "h.a-association", "mine-association",
            ]
        )
        // There is no application, and the desktop still prefers the added entry.
        try root.write(associations(added: ["web": "h.b.desktop"]), to: "config/mimeapps.list")
        try #require(unlink("\(root.path)/home/applications/mine.desktop") == 0)
        try #require(unlink("\(root.path)/data2/applications/theirs.desktop") == 0)
        #expect(order(registry(handlers[0], handlers[1])) == ["h.b+association", "h.a-association"])
        // The host is the registry's own matter.
        let hosted = try handler("h.c", hosts: ["acme.com"])
        #expect(order(registry(handlers[0], handlers[1], hosted), host: "acme.com").first == "h.c+host")
    }

    @Test func removedAssociationComesLast() throws {
        try writeEntry("z", in: "data2")
        try root.write(associations(removed: ["web": "h.a.desktop"]), to: "config/mimeapps.list")
        let handlers = [try handler("h.a"), try handler("h.b", date: 9)]
        let expected = ["h.b+association", "z-association", "h.a-association"]
        #expect(order(registry(handlers[0], handlers[1])) == expected)
        try #require(unlink("\(root.path)/data2/applications/z.desktop") == 0)
        #expect(order(registry(handlers[0], handlers[1])) == ["h.b+association", "h.a-association"])
        #expect(order(registry(handlers[0])) == ["h.a="])
    }

    // MARK: The user's pick

    @Test func pickOfAnotherThanTheFirstEntryCounts() throws {
        try writeEntry("other")
        let handlers = [try handler("h.a"), try handler("h.b"), try handler("h.hosted", hosts: ["acme.com"])]
        func picked(_ id: String, host: String? = nil) -> String? {
            registry(handlers[0], handlers[1], handlers[2])
                .handlerPicked(by: "\(id).desktop", for: scheme, host: host)
        }
        // The desktop follows its own order, so the registry decides.
        #expect(picked("h.a") == nil)
        #expect(picked("h.b") == "h.b")
        #expect(picked("h.hosted") == nil)
        #expect(picked("h.hosted", host: "acme.com") == "h.hosted")
        try choose("other.desktop")
        #expect(picked("h.a") == "h.a")
        try choose("missing.desktop;h.b.desktop")
        #expect(picked("h.a") == "h.a")
        #expect(picked("h.b") == nil)
        // These entries stand for no handler of the scheme.
        #expect(picked("other") == nil)
        #expect(picked("org.openurl.Router1") == nil)
        #expect(picked("h.missing") == nil)
        #expect(registry().handlerPicked(by: "not a name", for: scheme, host: nil) == nil)
    }

    @Test func userDefaultComesBeforeHostsAndDirectories() throws {
        try writeEntry("a", in: "data2")
        try writeEntry("b")
        let handler = try handler("h.h", hosts: ["acme.com"])
        try choose("a.desktop")
        #expect(
            order(registry(handler), host: "acme.com") == ["a+userDefault", "b-userDefault", "h.h-userDefault"]
        )
        // The system's choice also counts as a default. The user's choice comes before it.
        try root.write(associations(defaults: ["web": "b.desktop"]), to: "etc/mimeapps.list")
        #expect(order(registry(handler)) == ["a+userDefault", "b-userDefault"])
        try choose("")
        #expect(order(registry(handler)) == ["b+userDefault", "a-userDefault"])
    }

    @Test func handlerIsTheDefaultByItsEntry() throws {
        try writeEntry("h.late", "X-OpenURL-Handler=h.late")
        try writeEntry("h.hosted", "X-OpenURL-Handler=h.hosted")
        try writeEntry("a")
        let handlers = [
            try handler("h.early"), try handler("h.late", precedence: 3, date: 9),
            try handler("h.hosted", hosts: ["acme.com"]),
        ]
        let ids = ["a+association", "h.early-association", "h.late-association"]
        #expect(order(registry(handlers[0], handlers[1], handlers[2])) == ids)
        try choose("h.late.desktop")
        let chosen = ["h.late+userDefault", "a-userDefault", "h.early-userDefault"]
        #expect(order(registry(handlers[0], handlers[1], handlers[2])) == chosen)
        // A default that does not take the URL's host is skipped, and the next one of the list counts.
        try choose("h.hosted.desktop;a.desktop;")
        #expect(order(registry(handlers[0], handlers[2])) == ["a+userDefault", "h.early-userDefault"])
        #expect(
            order(registry(handlers[0], handlers[2]), host: "acme.com") == [
                "h.hosted+userDefault", "a-userDefault", "h.early-userDefault",
            ]
        )
    }

    /// The registry writes the entry of a handler at its registration, and reads the entry a moment later.
    @Test func handlerIsTheDefaultBeforeItsEntryIsRead() throws {
        try choose("h.late.desktop")
        let handlers = [try handler("h.early"), try handler("h.late", precedence: 3, date: 9)]
        let chosen = ["h.late+userDefault", "h.early-userDefault"]
        #expect(order(registry(handlers[0], handlers[1])) == chosen)
        try writeEntry("h.late", "X-OpenURL-Handler=h.late")
        #expect(order(registry(handlers[0], handlers[1])) == chosen)
        // An unusable file of another program does not stand for the handler.
        try writeEntry("h.late", "Hidden=true")
        #expect(order(registry(handlers[0], handlers[1])) == ["h.early+directory", "h.late-directory"])
    }

    @Test func missingDefaultDecidesNothing() throws {
        try writeEntry("a")
        // The defaults name a handler that is gone and a file that does not exist.
        try writeEntry("h.gone", "X-OpenURL-Handler=h.gone")
        try choose("h.gone.desktop;missing.desktop;")
        #expect(order(registry(try handler("h.h"))) == ["a+association", "h.h-association"])
        #expect(order(registry()) == ["a="])
    }

    /// Similar names do not match: a missing file and an application, or an application and a handler.
    @Test func defaultNamesEitherAHandlerOrAnApplication() throws {
        try writeEntry("a")
        try writeEntry("h.h")
        try choose("h.h.desktop.desktop")
        #expect(order(registry()) == ["a+association", "h.h-association"])
        try choose("h.h.desktop")
        let handler = try handler("h.h.desktop")
        #expect(
            registry(handler).candidates(for: scheme, host: nil).map(\.claimant.kind) == [.exec, .exec, .native]
        )
    }

    @Test func fixedHandlerComesBeforeTheUserDefault() throws {
        try writeEntry("a")
        try choose("a.desktop")
        let fixed = try handler("z.fixed", isFixed: true, precedence: 9)
        let maps = try handler("z.maps", hosts: ["maps.acme.com"], isFixed: true, precedence: 9)
        #expect(order(registry(fixed)) == ["z.fixed+fixedScheme", "a-fixedScheme"])
        #expect(
            order(registry(fixed, maps), host: "maps.acme.com") == ["z.maps+host", "z.fixed-host", "a-fixedScheme"]
        )
        // A handler with hosts takes only URLs of these hosts.
        #expect(order(registry(maps), host: "acme.com") == ["a="])
    }

    @Test func handlersAreOrderedByDateThenIdentifier() throws {
        try writeEntry("a", in: "data1")
        let handlers = [try handler("h.c", date: 1), try handler("h.b", date: 2), try handler("h.a", date: 2)]
        #expect(
            order(registry(handlers[0], handlers[1], handlers[2])) == [
                "h.c+registrationDate", "h.a-registrationDate", "h.b-registrationDate", "a-association",
            ]
        )
        #expect(order(registry(handlers[1], handlers[2])) == ["h.a+identifier", "h.b-identifier", "a-association"])
    }

    // MARK: Claimants and applications behind handlers

    @Test func claimantsOfAnyHostComeBeforeHandlersWithHosts() throws {
        try writeEntry("a", in: "data1")
        try writeEntry("b", in: "data1")
        try choose("b.desktop")
        let handlers = [
            try handler("h.hosted", hosts: ["acme.com"]), try handler("h.any", precedence: 2),
            try handler("h.fixed", hosts: ["maps.acme.com"], isFixed: true, precedence: 3),
        ]
        #expect(
            registry(handlers[0], handlers[1], handlers[2]).claimants(of: scheme) == [
                "b.desktop", "h.any", "a.desktop", "h.fixed", "h.hosted",
            ]
        )
    }

    @Test func applicationOfASystemSchemeIsTheDesktopsChoice() throws {
        let fixed = try handler("z.fixed", program: nil, isFixed: true)
        #expect(fixed.kind == .freedesktop)
        #expect(throws: NoApplication.none(scheme)) { try registry(fixed).application(for: scheme) }
        try writeEntry("a")
        try writeEntry("b")
        #expect(try registry(fixed).application(for: scheme).id.rawValue == "a.desktop")
        try choose("b.desktop")
        #expect(try registry(fixed).application(for: scheme).id.rawValue == "b.desktop")
    }

    /// The user has chosen openurl itself, or a handler's entry.
    @Test func applicationOfASystemSchemeNeverLeadsBackToTheRouter() throws {
        let fixed = try handler("z.fixed", program: nil, isFixed: true)
        try writeEntry("own", "X-OpenURL-Handler=z.other")
        try choose("own.desktop")
        let own = NoApplication.own(scheme, try desktopFile("own.desktop"))
        #expect(throws: own) { try registry(fixed).application(for: scheme) }
        #expect(own.description.contains("(own.desktop) leads back to openurl"))
        try writeEntry("a")
        #expect(try registry(fixed).application(for: scheme).id.rawValue == "a.desktop")
        #expect(NoApplication.none(scheme).description.contains("'openurl default web NAME.desktop'"))
    }

    /// The handler of a system scheme and the desktop's choice are not two winners.
    @Test func desktopsChoiceIsTheWinnerOfASystemScheme() throws {
        let fixed = try handler("z.fixed", program: nil, isFixed: true)
        let maps = try handler("z.maps", hosts: ["maps.acme.com"], program: nil, isFixed: true)
        func resolved(_ host: String? = nil) -> [String] {
            let registry = registry(fixed, maps)
            return registry.resolved(registry.candidates(for: scheme, host: host), for: scheme).map(\.description)
        }
        #expect(resolved() == [])
        try writeEntry("a")
        try writeEntry("b")
        let wins = "leaves the URL to the desktop, whose choice this is"
        let order = WinningRule.association.description
        #expect(resolved() == ["a.desktop wins: z.fixed \(wins)", "b.desktop loses to a.desktop: \(order)"])
        try choose("b.desktop")
        let loses = "a.desktop loses to b.desktop: the user's default comes first"
        #expect(resolved("maps.acme.com") == ["b.desktop wins: z.maps \(wins)", loses])
        // A handler with a program is a winner itself.
        let own = registry(try handler("h.own"))
        let candidates = own.candidates(for: scheme, host: nil)
        #expect(own.resolved(candidates, for: scheme) == candidates)
    }

    @Test func everyRuleHasADescription() {
        let rules: [WinningRule] = [
            .fixedScheme, .userDefault, .host, .association, .directory, .registrationDate, .identifier,
        ]
        #expect(Set(rules.map(\.description)).count == rules.count)
    }
}
