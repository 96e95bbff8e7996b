import Desktop
import Links
import Reactor
import TestSupport
import Testing

@testable import URLRouter

/// The limits on the threads that read browsers' profiles.
@Suite(.timeLimit(.minutes(10))) struct ProfileReadingTests {
    /// Returns why the profiles of a browser are not read; nil if they are.
    ///
    /// - Parameter isBusy: whether the router's loop is busy meanwhile.
    private func problem(
        isBusy: Bool = false,
        _ change: (inout RouterLimits) -> Void = { _ in }
    ) async throws -> String? {
        let desktop = try DesktopFixture()
        defer { withExtendedLifetime(desktop) {} }
        try desktop.addEntry("firefox", "Exec=sh firefox %u")
        let entry = try #require(desktop.applications.application(calledInRule: "firefox"))
        var limits = RouterLimits()
        change(&limits)
        let bus = try FakeHandlers([:])
        let router = URLRouter([], desktop.applications, on: bus, environment: desktop.environment, limits: limits)
        return await router.problem(reading: entry, isBusy: isBusy)
    }

    @Test func profilesAreReadWithinTheLimits() async throws {
        #expect(try await problem() == nil)
        // One program gets half of what is left.
        let refused = try await problem { $0.fileLooks = 1 }
        #expect(refused?.contains("are being read for too many links") == true, "\(String(describing: refused))")
    }

    @Test func profilesThatComeLateAreNotUsed() async throws {
        // A reading may end before the loop looks at its timers.
        try await eventually(try await problem(isBusy: true) { $0.fileTime = .zero }) {
            $0?.contains("did not provide the profiles") == true
        }
    }
}

extension URLRouter {
    fileprivate func problem(reading entry: DesktopEntry, isBusy: Bool) async -> String? {
        if isBusy {
            loop.execute {
                // After so long a turn, the loop looks at its timers before it takes the next job.
                let end = ContinuousClock.now + .milliseconds(50)
                while .now < end {}
            }
        }
        do throws(LinkFailure) {
            _ = try await links.profiles(of: entry, "user")
            return nil
        } catch {
            return "\(error)"
        }
    }
}
