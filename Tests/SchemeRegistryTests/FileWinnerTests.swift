import Desktop
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// The winner for a file, among handlers and the desktop's applications.
struct FileWinnerTests {
    private let root: TemporaryDirectory

    init() throws {
        root = try TemporaryDirectory()
        for directory in ["home/applications", "data1/applications", "config"] { try root.makeDirectory(directory) }
    }

    private func handler(
        _ id: String,
        _ claims: String...,
        opening schemes: [String] = [],
        rank: HandlerRank = .default,
        date: Int64 = 0
    ) throws -> Handler {
        try .test(id, opening: schemes, date: date) { manifest in
            manifest.fileClaims = try claims.map { claim in
                guard claim.hasPrefix("*.") else { return FileClaim(.type(try mimeType(claim)), rank) }
                return FileClaim(.filenameExtension(try FilenameExtension(String(claim.dropFirst(2)))), rank)
            }
        }
    }

    private func writeEntry(_ name: String, _ types: String, in place: String = "data1") throws {
        let lines = ["[Desktop Entry]", "Type=Application", "Name=\(name)", "Exec=true %f", "MimeType=\(types)"]
        try root.write(lines.map { "\($0)\n" }.joined(), to: "\(place)/applications/\(name).desktop")
    }

    private func registry(_ handlers: Handler...) -> Registry {
        Registry(handlers: handlers, applications: DesktopApplications(loading: root.desktop()))
    }

    private func file(_ types: String..., name: String = "", isByName: Bool = true) throws -> FileKind {
        let types = try types.map { try mimeType($0) }
        return FileKind(FileTypeGuess(type: types[0], types: types, isByName: isByName), name: name)
    }

    private func order(_ registry: Registry, _ file: FileKind) -> [String] {
        registry.candidates(for: file).map { $0.claimant.id.replacing(".desktop", with: "") }
    }

    @Test func fileWithoutAClaimHasNoWinner() throws {
        #expect(registry().winner(for: try file("image/png")) == nil)
        #expect(registry(try handler("com.acme.a", "image/jpeg")).candidates(for: try file("image/png")) == [])
    }

    @Test func handlerWithoutAProgramGetsNoFiles() throws {
        let fixed = try Handler.test("org.openurl.system.x", opening: [], program: nil, isFixed: true) {
            $0.fileClaims = [FileClaim(.type(try mimeType("image/png")))]
        }
        #expect(registry(fixed).winner(for: try file("image/png")) == nil)
    }

    @Test func narrowestTypeComesFirst() throws {
        try writeEntry("viewer", "text/plain;")
        let script = try handler("com.acme.script", "text/x-python")
        let any = try handler("com.acme.any", "application/octet-stream")
        let python = try file("text/x-python", "text/plain", "application/octet-stream")
        let candidates = registry(any, script).candidates(for: python)
        #expect(candidates.map(\.claimant.id) == ["com.acme.script", "viewer.desktop", "com.acme.any"])
        #expect(candidates.map(\.outcome.reason) == Array(repeating: WinningRule.fileType.description, count: 3))
    }

    @Test func defaultOfAWiderTypeDoesNotBeatANarrowerType() throws {
        try writeEntry("viewer", "text/plain;")
        try root.write("[Default Applications]\ntext/plain=viewer.desktop\n", to: "config/mimeapps.list")
        let script = try handler("com.acme.script", "text/x-python")
        #expect(order(registry(script), try file("text/x-python", "text/plain")) == ["com.acme.script", "viewer"])
    }

    @Test func defaultOfTheUserComesFirst() throws {
        let (one, two) = (
            try handler("com.acme.one", "image/png", date: 1), try handler("com.acme.two", "image/png", date: 2)
        )
        try writeEntry("viewer", "image/png;")
        let png = try file("image/png")
        #expect(order(registry(one, two), png) == ["com.acme.one", "com.acme.two", "viewer"])
        try root.write("[Default Applications]\nimage/png=viewer.desktop\n", to: "config/mimeapps.list")
        #expect(order(registry(one, two), png) == ["viewer", "com.acme.one", "com.acme.two"])
        #expect(registry(one).candidates(for: png).first?.outcome == .won(by: .userDefault))
        try root.write("[Default Applications]\nimage/png=com.acme.two.desktop\n", to: "config/mimeapps.list")
        #expect(order(registry(one, two), png).first == "com.acme.two")
        try root.write("[Removed Associations]\nimage/png=viewer.desktop\n", to: "config/mimeapps.list")
        #expect(order(registry(one, two), png) == ["com.acme.one", "com.acme.two"])
    }

    @Test func ownerComesBeforeAnEarlierHandler() throws {
        let early = try handler("com.acme.early", "image/png", date: 1)
        let owner = try handler("com.acme.owner", "image/png", rank: .owner, date: 2)
        let alternate = try handler("com.acme.alternate", "image/png", rank: .alternate, date: 0)
        let candidates = registry(early, alternate, owner).candidates(for: try file("image/png"))
        #expect(candidates.map(\.claimant.id) == ["com.acme.owner", "com.acme.early", "com.acme.alternate"])
        #expect(candidates[1].outcome == .lost(to: "com.acme.owner", by: .rank))
    }

    @Test func extensionCountsMoreThanAGuessFromTheContents() throws {
        let list = try handler("com.acme.list", "*.todo")
        let text = try handler("com.acme.text", "text/plain")
        let registry = registry(text, list)
        let byContents = try file("text/plain", name: "a.TODO", isByName: false)
        #expect(order(registry, byContents) == ["com.acme.list", "com.acme.text"])
        let byName = try file("text/plain", name: "a.todo", isByName: true)
        #expect(order(registry, byName) == ["com.acme.text", "com.acme.list"])
        #expect(order(registry, try file("text/plain", name: "todo", isByName: false)) == ["com.acme.text"])
        #expect(order(registry, try file("inode/directory", name: "a.todo", isByName: false)) == [])
    }

    @Test func claimOnTheSchemeComesFirst() throws {
        let scheme = try handler("com.acme.scheme", opening: ["file"])
        let png = try handler("com.acme.png", "image/png", rank: .owner)
        let candidates = registry(png, scheme).candidates(for: try file("image/png"))
        #expect(candidates.map(\.claimant.id) == ["com.acme.scheme", "com.acme.png"])
        #expect(candidates[0].outcome == .won(by: .fileScheme))
    }

    @Test func claimantOfSeveralPropertiesIsListedOnce() throws {
        try writeEntry("viewer", "image/svg+xml;text/plain;")
        let one = try handler("com.acme.one", "text/plain", "image/svg+xml", "*.svg")
        #expect(
            order(registry(one), try file("image/svg+xml", "text/plain", name: "a.svg")) == ["com.acme.one", "viewer"]
        )
    }

    @Test func senderMayAskForACandidate() throws {
        let (one, two) = (try handler("com.acme.one", "image/png"), try handler("com.acme.two", "image/png"))
        let candidates = registry(one, two).candidates(for: try file("image/png"), asking: "com.acme.two")
        #expect(candidates.first?.outcome == .requested(insteadOf: "com.acme.one"))
    }

    @Test func pickOnTheDesktopCountsWithoutAClaim() throws {
        let (one, two) = (try handler("com.acme.one", "image/png"), try handler("com.acme.two", "text/plain"))
        let scheme = try handler("com.acme.scheme", opening: ["web"])
        let registry = registry(one, two, scheme)
        let png = try file("image/png")
        #expect(registry.handlerPicked(by: "com.acme.two.desktop", for: png)?.id == two.id)
        // The entry that comes first in the desktop's order is no pick.
        #expect(registry.handlerPicked(by: "com.acme.one.desktop", for: png) == nil)
        #expect(registry.handlerPicked(by: "com.acme.scheme.desktop", for: png) == nil)
        #expect(registry.handlerPicked(by: "missing.desktop", for: png) == nil)
        let candidates = registry.candidates(for: png, picked: two)
        #expect(candidates.map(\.claimant.id) == ["com.acme.two", "com.acme.one"])
        #expect(candidates[0].outcome == .requested(insteadOf: "com.acme.one"))
    }

    @Test func changedHandlerLosesItsOldClaims() throws {
        var registry = registry(
            try handler("com.acme.one", "image/png", "*.a"),
            try handler("com.acme.two", "image/png")
        )
        let png = try file("image/png")
        #expect(order(registry, png) == ["com.acme.one", "com.acme.two"])
        _ = registry.update(
            handlers: [try handler("com.acme.one", "image/gif"), try handler("com.acme.two", "image/png")],
            diagnostics: []
        )
        #expect(order(registry, png) == ["com.acme.two"])
        #expect(order(registry, try file("image/gif")) == ["com.acme.one"])
        _ = registry.update(handlers: [], diagnostics: [])
        #expect(order(registry, png) == [])
    }

    @Test func newHandlerTakesTypesFromOthersThatStillClaimThem() throws {
        try writeEntry("viewer", "image/png;image/gif;")
        let before = registry()
        let new = try handler("com.acme.new", "image/png", "image/gif", "image/bmp")
        let taken = registry(new).fileTypes(takenBy: new, from: before)
        #expect(taken.map(\.type.rawValue) == ["image/png", "image/gif"])
        #expect(taken.map(\.claimant.id) == ["viewer.desktop", "viewer.desktop"])
    }

    @Test func defaultIsWrittenForATypeOfFile() throws {
        try writeEntry("viewer", "image/png;")
        let desktop = root.desktop()
        try registry().setDefault("viewer.desktop", for: "Image/PNG", in: desktop)
        #expect(try root.read("config/mimeapps.list")?.contains("image/png=viewer.desktop;") == true)
        #expect(throws: DefaultError.badType("image/")) {
            try registry().setDefault("viewer.desktop", for: "image/", in: desktop)
        }
        let other = ChosenKind.type(try mimeType("text/plain"))
        #expect(throws: DefaultError.notAssigned(try desktopFile("viewer.desktop"), other)) {
            try registry().setDefault("viewer.desktop", for: "text/plain", in: desktop)
        }
        let one = try handler("com.acme.one", "image/png")
        #expect(throws: DefaultError.notClaimed(one.id, other)) {
            try registry(one).setDefault("com.acme.one", for: "text/plain", in: desktop)
        }
        try registry().setDefault("", for: "image/png", in: desktop)
        #expect(try root.read("config/mimeapps.list")?.contains("viewer.desktop") == false)
    }

    @Test func entryOfAHandlerClaimsItsTypes() throws {
        let one = try handler("com.acme.one", "image/png", "*.todo", "application/pdf", opening: ["web"])
        let files = try handler("com.acme.files", "text/plain")
        let ends = try handler("com.acme.ends", "*.todo")
        var publication = try #require(DesktopPublication(in: root.desktop(), command: "/usr/bin/openurl"))
        publication.publish(registry(one, files, ends))
        let entry = try #require(try root.read("home/applications/com.acme.one.desktop"))
        #expect(entry.contains("MimeType=x-scheme-handler/web;image/png;application/pdf;\n"))
        #expect(try root.read("home/applications/com.acme.files.desktop")?.contains("MimeType=text/plain;") == true)
        // The desktop knows only types, so there is nothing to publish.
        #expect(try root.read("home/applications/com.acme.ends.desktop") == nil)
        let cache = try #require(try root.read("home/applications/mimeinfo.cache"))
        #expect(cache.contains("image/png=com.acme.one.desktop;"))
    }
}
