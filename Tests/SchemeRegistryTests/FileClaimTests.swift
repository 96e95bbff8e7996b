import Desktop
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// The claims on files that follow from the document types of a manifest.
struct FileClaimTests {
    private func claims(_ types: DocumentType..., declaring: [TypeDeclaration] = []) throws -> [String] {
        var manifest = HandlerManifest(identifier: try BundleIdentifier("com.acme.viewer"), executable: nil)
        manifest.documentTypes = types
        manifest.typeDeclarations = declaring
        return manifest.resolvedFileClaims().map { "\($0.rank.rawValue) \($0.key)" }
    }

    private func document(_ contentTypes: String..., change: (inout DocumentType) -> Void = { _ in }) throws
        -> DocumentType
    {
        var type = DocumentType()
        type.contentTypes = try contentTypes.map { try TypeIdentifier($0) }
        change(&type)
        return type
    }

    @Test func publicTypesHaveMIMETypes() throws {
        #expect(
            try claims(document("public.png", "com.Adobe.PDF")) == ["Default image/png", "Default application/pdf"]
        )
        #expect(try claims(document("public.plain-text")) == ["Default text/plain"])
        #expect(try claims(document("public.data")) == ["Default application/octet-stream"])
        #expect(try claims(document("public.folder")) == ["Default inode/directory"])
    }

    @Test func typeWithoutFilesStandsForTheTypesThatConformToIt() throws {
        let images = try claims(document("public.image"))
        for type in ["image/png", "image/jpeg", "image/x-dcraw"] { #expect(images.contains("Default \(type)")) }
        // The shared database knows that this type is narrower than the one before.
        #expect(!images.contains("Default image/x-canon-cr2"))
        #expect(images.allSatisfy { $0.hasPrefix("Default image/") || $0 == "Default application/illustrator" })
        let media = try claims(document("public.audiovisual-content"))
        #expect(media.contains("Default video/mp4") && media.contains("Default audio/mpeg"))
        #expect(try claims(document("public.font")).contains("Default font/woff2"))
    }

    @Test func declaredTypeIsFoundByItselfAndByWiderTypes() throws {
        var photo = TypeDeclaration(try TypeIdentifier("com.acme.photo"))
        photo.conformsTo = [try TypeIdentifier("public.image")]
        photo.filenameExtensions = [try FilenameExtension("Acme")]
        #expect(try claims(document("com.acme.photo"), declaring: [photo]) == ["Default *.acme"])
        #expect(try claims(document("public.image"), declaring: [photo]).contains("Default *.acme"))
        #expect(try claims(document("com.acme.photo")) == [])
    }

    @Test func publicTypeCannotBeRedefined() throws {
        var png = TypeDeclaration(try TypeIdentifier("public.png"))
        png.mimeTypes = [try mimeType("text/html")]
        #expect(try claims(document("public.png"), declaring: [png]) == ["Default image/png"])
    }

    @Test func circleOfDeclarationsEnds() throws {
        var (one, two) = (
            TypeDeclaration(try TypeIdentifier("com.acme.one")), TypeDeclaration(try TypeIdentifier("com.acme.two"))
        )
        one.conformsTo = [two.identifier, one.identifier]
        two.conformsTo = [one.identifier]
        #expect(try claims(document("com.acme.one"), declaring: [one, two]) == [])
    }

    @Test func bestRankOfEachPropertyCounts() throws {
        let list = try claims(
            document("public.png") { $0.rank = .alternate },
            document("public.jpeg", "public.png") { $0.rank = .owner },
            document("public.tiff") { $0.rank = .none },
            document("com.compuserve.gif") { $0.role = .none }
        )
        #expect(list == ["Owner image/png", "Owner image/jpeg"])
    }

    @Test func asteriskStandsForEveryFile() throws {
        let list: PropertyListValue = [
            "CFBundleIdentifier": "com.acme.viewer",
            "CFBundleDocumentTypes": [["CFBundleTypeExtensions": ["*", "TXT"]]],
        ]
        let manifest = try #require(HandlerManifest.decode(list).manifest)
        #expect(manifest.fileClaims.map(\.key.description) == ["application/octet-stream", "*.txt"])
    }

    @Test func everyPublicTypeLeadsToValidNames() throws {
        for type in publicTypes {
            _ = try TypeIdentifier(type.identifier.rawValue)
            for wider in type.conformsTo { #expect(publicTypes.contains { $0.identifier == wider }) }
        }
        #expect(Set(publicTypes.map(\.identifier)).count == publicTypes.count)
        #expect(publicTypes.count > 150)
    }

    @Test func unknownTypeIsAWarningOfTheEntry() throws {
        let root = try TemporaryDirectory()
        var list = manifest("com.acme.viewer")
        list["CFBundleDocumentTypes"] = [["LSItemContentTypes": ["public.png", "com.acme.unknown"]]]
        try root.write(list.encoded(), to: "user/com.acme.viewer.plist")
        let registry = Registry(loading: RegistryDirectories(user: "\(root.path)/user", system: []))
        #expect(registry.handlers.map(\.id.rawValue) == ["com.acme.viewer"])
        #expect(registry.diagnostics.map(\.key) == ["CFBundleDocumentTypes[0].LSItemContentTypes[1]"])
        #expect(registry.diagnostics.first?.severity == .warning)
    }

    @Test(
        arguments: [
            ("a.tar.gz", ["tar.gz", "gz"]), (".hidden", []), (".a.TXT", ["txt"]), ("README", []), ("a.", []),
            ("a..b", ["b"]), ("x.a\nb", []),
        ]
    )
    func nameHasItsExtensionsTheLongestFirst(_ name: String, _ expected: [String]) {
        #expect(FilenameExtension.all(inName: name).map(\.rawValue) == expected)
    }
}
