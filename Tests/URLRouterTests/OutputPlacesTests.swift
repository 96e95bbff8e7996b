import DBus
import OpenURLBus
import SchemeRegistry
import TestSupport
import Testing

@testable import URLRouter

/// Where the router says that the output of a handler is.
@Suite(.timeLimit(.minutes(10))) struct OutputPlacesTests {
    private let directory: TemporaryDirectory
    private let command: Handler
    private let native: Handler
    private let application: Handler

    init() throws {
        directory = try TemporaryDirectory()
        command = try .test("com.example.command", program: .path("/bin/true")) {
            $0.command = try HandlerCommand(["/bin/true", "%u"])
        }
        native = try .test("com.example.native")
        application = try .test("com.example.application", program: nil)
    }

    /// - Parameter journal: the value of `OPENURL_JOURNAL`.
    private func router(_ bus: FakeHandlers, journal: String? = nil) -> URLRouter {
        var environment = ["XDG_STATE_HOME": directory.path]
        environment["OPENURL_JOURNAL"] = journal
        return URLRouter([command, native, application], on: bus, environment: environment)
    }

    private func refusal(_ router: URLRouter, _ id: String) async throws -> OpenURLError.Code? {
        let id = try BundleIdentifier(id)
        do throws(OpenURLError) {
            _ = try await router.outputPlace(of: id)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func outputOfACommandIsInItsFile() async throws {
        let router = router(try FakeHandlers([:]))
        let place = try await router.outputPlace(of: command.id)
        #expect(place == OutputPlace(file: "\(directory.path)/openurl/output/com.example.command.log"))
    }

    @Test func applicationsAndStrangersHaveNone() async throws {
        let router = router(try FakeHandlers([:]))
        #expect(try await refusal(router, "com.example.application") == .noHandler)
        #expect(try await refusal(router, "com.example.nobody") == .noHandler)
    }

    /// The process has no output that a router opened.
    @Test func processOfAPersonWritesElsewhere() async throws {
        let process = try RunningProcess()
        defer { process.end() }
        let bus = try FakeHandlers(["com.example.native": ":1.81"], processes: [":1.81": process.pid])
        let router = router(bus)
        let place = try await router.outputPlace(of: native.id)
        #expect(place.isElsewhere)
        #expect((place.file == nil) != (place.journal == nil))
    }

    @Test func handlerWithoutAProcessHasAPlace() async throws {
        let router = router(try FakeHandlers([:]))
        let place = try await router.outputPlace(of: native.id)
        #expect(!place.isElsewhere)
        #expect((place.file == nil) != (place.journal == nil))
    }

    @Test func variableChoosesTheJournal() async throws {
        let journal = try directory.write("", to: "journal")
        let missing = "\(directory.path)/none"
        for (path, identifier) in [(journal, native.id.rawValue), ("", nil), (missing, nil)] as [(String, String?)] {
            let router = router(try FakeHandlers([:]), journal: path)
            #expect(try await router.outputPlace(of: native.id).journal == identifier)
        }
    }
}

extension URLRouter {
    fileprivate func outputPlace(of id: BundleIdentifier) async throws(OpenURLError) -> OutputPlace {
        try await outputs.place(of: id)
    }
}
