import Desktop
import Glibc
import OpenURLBus
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The kinds of the files that callers open, with the shared MIME database of this machine.
@Suite(
    .enabled(if: access("/usr/share/mime/mime.cache", R_OK) == 0, "there is no shared MIME database"),
    .timeLimit(.minutes(10))
)
struct FileKindTests {
    private let bus: FakeHandlers

    init() throws {
        bus = try FakeHandlers(["com.example.png": ":1.1", "com.example.any": ":1.2"])
    }

    private func router(
        _ limits: RouterLimits = RouterLimits(),
        data: [String] = ["/usr/share"]
    ) throws -> URLRouter {
        let handlers = try [("png", ["image/png", "inode/fifo"]), ("any", ["application/octet-stream"])].map {
            name,
            types in
            try Handler.test("com.example.\(name)") { manifest in
                manifest.urlTypes = []
                manifest.fileClaims = try types.map { FileClaim(.type(try #require(MimeType($0)))) }
            }
        }
        return URLRouter(handlers, on: bus, environment: ["XDG_DATA_DIRS": data.joined(separator: ":")], limits: limits)
    }

    private func explain(_ url: String, _ type: String? = nil) async throws -> Explanation {
        var options = OpenOptions()
        options.contentType = type
        return try await router().explain(url, options, caller: ownConnection)
    }

    private func temporary(_ body: (String) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        try await body(directory.path)
    }

    @Test func fileGoesToTheHandlerOfItsType() async throws {
        let explanation = try await explain("file:///missing/a.png")
        #expect(explanation.contentType == "image/png")
        #expect(explanation.handler == "com.example.png")
        #expect(explanation.candidates.map(\.id) == ["com.example.png", "com.example.any"])
        #expect(try await explain("file:///missing/a%2Epng#part").handler == "com.example.png")
        #expect(try await explain("FILE://localhost/a.png").handler == "com.example.png")
        #expect(try await explain("file:///missing/a.txt").handler == "com.example.any")
    }

    @Test(arguments: ["file://other/a.png", "file:a.png", "file:///a.png?x", "file:///a%00.png"])
    func urlWithoutAFileOfThisMachineHasNoType(_ url: String) async throws {
        let explanation = try await explain(url)
        #expect(explanation.contentType == nil)
        #expect(explanation.error?.name == OpenURLError.Code.noHandler.errorName.rawValue)
    }

    @Test func contentsDecideForTheUserAlone() async throws {
        try await temporary { path in
            let file = try #require(fopen("\(path)/picture", "w"))
            fwrite([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] as [UInt8], 1, 8, file)
            fclose(file)
            #expect(try await explain("file://\(path)/picture").contentType == "image/png")
            let router = try router()
            let none = OpenOptions()
            // Nobody learns about a file that the caller could not look at itself.
            for callerClass in [CallerClass.sandboxed, .remote, .unknown] {
                let type = try await router.kindName("file://\(path)/picture", none, callerClass)
                #expect(type == "application/octet-stream")
            }
            for callerClass in [CallerClass.user, .handler] {
                #expect(try await router.kindName("file://\(path)/picture", none, callerClass) == "image/png")
            }
        }
    }

    @Test func nothingWaitsForAFIFO() async throws {
        try await temporary { path in
            try #require(mkfifo("\(path)/fifo.png", 0o600) == 0)
            #expect(try await explain("file://\(path)/fifo.png").contentType == "inode/fifo")
        }
    }

    @Test func callerMayKnowTheType() async throws {
        #expect(try await explain("file:///x", "image/png").handler == "com.example.png")
        #expect(try await explain("file:///x.png", "text/plain").handler == "com.example.any")
        let scheme = try await explain("file:///x", "x-scheme-handler/http")
        #expect(scheme.error?.name == OpenURLError.Code.noHandler.errorName.rawValue)
    }

    @Test func silentFileSystemEndsTheRequest() async throws {
        var limits = RouterLimits()
        limits.fileTime = .zero
        // The look takes milliseconds, because it asks for the database in each directory.
        let explanation = try await router(limits, data: (0..<5000).map { "/missing/\($0)" }).explain(
            "file:///x.png",
            OpenOptions(),
            caller: ownConnection
        )
        #expect(explanation.error?.name == OpenURLError.Code.timedOut.errorName.rawValue)
    }

    @Test func oneApplicationLooksAtFewFilesAtOnce() async throws {
        var limits = RouterLimits()
        limits.fileLooks = 1
        let explanation = try await router(limits).explain("file:///x.png", OpenOptions(), caller: ownConnection)
        #expect(explanation.error?.name == OpenURLError.Code.limitsExceeded.errorName.rawValue)
    }

    @Test func looksAreGivenBack() async throws {
        let router = try router()
        for _ in 0..<200 { #expect(try await router.kindName("file:///x.png", OpenOptions(), .user) == "image/png") }
        #expect(await router.looksAtNothing)
    }
}

extension URLRouter {
    fileprivate func kindName(
        _ url: String,
        _ options: OpenOptions,
        _ callerClass: CallerClass
    ) async throws -> String? {
        try await files.kind(of: try .init(ofCaller: url), options, for: "test", callerClass)?.type.rawValue
    }

    fileprivate var looksAtNothing: Bool { files.looks.isEmpty }
}
