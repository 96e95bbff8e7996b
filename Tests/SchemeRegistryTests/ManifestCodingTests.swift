import ByteCoding
import Desktop
import TestSupport
import Testing
import UserFiles
import WebLinks

@testable import SchemeRegistry

extension SeededGenerator {
    mutating func count(_ limit: Int) -> Int { Int.random(in: 0...limit, using: &self) }

    mutating func text() -> String {
        String((0..<count(20)).map { _ in "abc /\n\0ü🙂".randomElement(using: &self) ?? "x" })
    }

    mutating func list<Element>(_ make: (inout SeededGenerator) throws -> Element) rethrows -> [Element] {
        var list: [Element] = []
        for _ in 0..<count(3) { list.append(try make(&self)) }
        return list
    }

    mutating func maybe<Value>(_ make: (inout SeededGenerator) throws -> Value) rethrows -> Value? {
        Bool.random(using: &self) ? try make(&self) : nil
    }

    mutating func scheme() throws -> Scheme { try Scheme("s\(count(.max - 1))") }

    mutating func manifest() throws -> HandlerManifest {
        let executables = try [Executable("/bin/a b"), Executable("bin/x"), Executable("x")]
        var manifest = HandlerManifest(
            identifier: try BundleIdentifier("com.acme.app\(count(1000))"),
            executable: maybe { executables.randomElement(using: &$0) ?? executables[0] }
        )
        manifest.arguments = list { $0.text() }
        manifest.command = try maybe { _ in try HandlerCommand(["/bin/a b", "%u", "100 %%"]) }
        manifest.name = maybe { $0.text() }
        manifest.displayName = maybe { $0.text() }
        manifest.version = maybe { $0.text() }
        manifest.urlTypes = try list { generator in
            URLType(
                name: generator.maybe { $0.text() },
                schemes: try generator.list { try $0.scheme() },
                hosts: try generator.maybe { try $0.list { try HostPattern("*.h\($0.count(9)).com") } }
            )
        }
        manifest.associatedDomains = try list { try AssociatedDomain("h\($0.count(9)).com/a\($0.count(9))/*") }
        manifest.documentTypes = try list { generator in
            var type = DocumentType(name: generator.maybe { $0.text() })
            type.role = DocumentRole.allCases.randomElement(using: &generator) ?? .editor
            type.rank = HandlerRank.allCases.randomElement(using: &generator) ?? .default
            type.contentTypes = try generator.list { try TypeIdentifier("com.acme.t\($0.count(9))") }
            type.filenameExtensions = try generator.list { try FilenameExtension("e\($0.count(9))") }
            type.mimeTypes = try generator.list { try mimeType("a/t\($0.count(9))") }
            return type
        }
        manifest.typeDeclarations = try list { generator in
            var type = TypeDeclaration(try TypeIdentifier("com.acme.t\(generator.count(9))"))
            type.conformsTo = try generator.list { try TypeIdentifier("public.t\($0.count(9))") }
            type.filenameExtensions = try generator.list { try FilenameExtension("e\($0.count(9))") }
            type.mimeTypes = try generator.list { try mimeType("a/t\($0.count(9))") }
            return type
        }
        manifest.fileClaims = manifest.resolvedFileClaims()
        manifest.launchImageFile = text()
        manifest.icons = list { $0.text() }
        manifest.backgroundModes = BackgroundMode.allCases.filter { _ in Bool.random(using: &self) }
        manifest.observedChanges = ObservedChange.allCases.filter { _ in Bool.random(using: &self) }
        manifest.exitsOnSuspend = Bool.random(using: &self)
        manifest.queriesSchemes = try list { try $0.scheme() }
        manifest.launchTimeout = maybe { .milliseconds($0.count(100_000)) }
        manifest.openTimeout = maybe { .nanoseconds($0.count(.max - 1)) }
        manifest.suspendDelay = maybe { .seconds($0.count(100_000)) }
        manifest.transitionTimeout = maybe { .seconds($0.count(100_000)) }
        manifest.backgroundTime = maybe { .seconds($0.count(100_000)) }
        manifest.environment = Dictionary(list { ($0.text(), $0.text()) }) { first, _ in first }
        manifest.allowedSources = try maybe { try $0.list { try SourcePattern("com.h\($0.count(9)).*") } }
        manifest.reach = Reach.allCases.randomElement(using: &self) ?? .everyone
        manifest.asks = Bool.random(using: &self)
        manifest.answersCallbacks = Bool.random(using: &self)
        manifest.keepsOldProgram = Bool.random(using: &self)
        if Bool.random(using: &self) { manifest.desktopEntry = DesktopFileID(rawValue: "org.example.App.desktop") }
        manifest.isFixed = Bool.random(using: &self)
        return manifest
    }

    mutating func cached() throws -> CachedManifest {
        let numbers = [.min, .max, 0, -1, Int64(truncatingIfNeeded: next())]
        let version = FileVersion(
            device: next(),
            inode: next(),
            size: Int64(count(1 << 20)),
            modified: numbers.randomElement(using: &self) ?? 0,
            changed: numbers.randomElement(using: &self) ?? 0
        )
        let reading: ManifestReading =
            count(4) == 0
            ? .invalid(
                list { generator in ManifestProblem(key: generator.maybe { $0.text() }, reason: generator.text()) }
            )
            : .manifest(try manifest())
        return CachedManifest(version: version, reading: reading)
    }
}

@Suite struct ManifestCodingTests {
    private func decoded(_ bytes: [UInt8], path: String = "/p", writer: String = "w") -> CachedManifest? {
        bytes.withUnsafeBytes { CachedManifest(bytes: $0, path: path, writer: writer) }
    }

    @Test func roundTripKeepsReadings() throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            let manifest = try generator.cached()
            #expect(decoded(manifest.encoded(path: "/p", writer: "w")) == manifest)
        }
    }

    @Test func alteredBytesAreRefused() throws {
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<20 {
            let bytes = try generator.cached().encoded(path: "/p", writer: "w")
            #expect(decoded(bytes, path: "/q") == nil)
            #expect(decoded(bytes, writer: "x") == nil)
            #expect(decoded(bytes + [0]) == nil)
            for index in bytes.indices {
                #expect(decoded(Array(bytes[..<index])) == nil)
                var altered = bytes
                altered[index] ^= 1 << UInt8(index % 8)
                #expect(decoded(altered) == nil)
            }
        }
    }

    /// The reader checks every length and form, even after a correct checksum.
    @Test func randomBytesAreReadOrRefused() throws {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<500 {
            var writer = ByteWriter()
            try generator.cached().reading.write(to: &writer)
            var bytes = writer.bytes
            for _ in 0...generator.count(3) {
                bytes[generator.count(bytes.count - 1)] = UInt8.random(in: 0...255, using: &generator)
            }
            bytes.removeLast(generator.count(bytes.count / 4))
            bytes.withUnsafeBytes {
                var reader = ByteReader($0)
                do throws(ByteReader.Mismatch) {
                    var again = ByteWriter()
                    try ManifestReading(from: &reader).write(to: &again)
                    #expect(!again.bytes.isEmpty)
                } catch {
                    // Most of the damaged inputs end here, as they should.
                }
            }
        }
    }
}
