import OpenURLBus
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// The programs that may wait for the URLs of a scheme, by the class of the caller.
@Suite(.timeLimit(.minutes(5))) struct CallbackRightsTests {
    private static let handler: BusName = ":1.81"
    private static let sandbox: BusName = ":1.82"
    private static let unknown: BusName = ":1.83"

    /// Returns the cause for which a caller may not claim a pattern; nil if the caller may.
    private func code(_ router: URLRouter, _ pattern: String, of caller: BusName?) async throws -> OpenURLError.Code? {
        do {
            _ = try await router.requestCallback("", pattern, CallbackOptions(), caller: caller)
            return nil
        } catch let error as OpenURLError {
            return error.code
        }
    }

    @Test func handlerClaimsItsOwnSchemesAlone() async throws {
        let child = try RunningProcess()
        defer { child.end() }
        let bus = try FakeHandlers(["com.example.app": Self.handler], processes: [Self.handler: child.pid])
        let handlers = [try Handler.test("com.example.app"), try Handler.test("com.example.other")]
        let router = URLRouter(handlers, on: bus, examine: { _, _, _ in .descends })
        _ = await router.status()
        #expect(await router.callerClass(Self.handler) == .handler)
        for (pattern, expected): (String, OpenURLError.Code?) in [
            ("app://auth", .limitsExceeded), ("com.example.app:/cb", .limitsExceeded), ("other://auth", .notAllowed),
            ("unclaimed", .notAllowed), ("https://example.com", .notAllowed),
        ] {
            // The bus of the test tells no end of this connection, so a claim that is allowed ends at once.
            let code = try await code(router, pattern, of: Self.handler)
            #expect(code == expected || code == nil && expected == .limitsExceeded, "\(pattern)")
        }
    }

    @Test func sandboxWithoutAnIdentifierAndUnknownProgramClaimNothing() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        await sandboxed.waitUntilItRuns()
        let bus = try FakeHandlers([:], processes: [Self.sandbox: sandboxed.pid, Self.unknown: .max])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        #expect(await router.callerClass(Self.sandbox) == .sandboxed)
        for caller in [Self.sandbox, Self.unknown, nil] {
            for pattern in ["app://auth", "unclaimed", "http://127.0.0.1/cb"] {
                #expect(try await code(router, pattern, of: caller) == .notAllowed)
            }
        }
    }
}
