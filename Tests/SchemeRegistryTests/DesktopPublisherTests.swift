import Desktop
import Glibc
import Logging
import Reactor
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// Publications that are given up, and those that follow them.
@Suite final class DesktopPublisherTests {
    private let root: TemporaryDirectory
    private let command: String
    private let isSilent: Lock<Bool>
    /// The last publication that was given up.
    private let givenUp: Lock<(@Sendable () -> DesktopPublication)?>
    private var publisher: DesktopPublisher

    init() throws {
        root = try TemporaryDirectory()
        command = try root.writeProgram("bin/openurl")
        let isSilent = Lock(false)
        let givenUp = Lock<(@Sendable () -> DesktopPublication)?>(nil)
        let runner: DesktopPublisher.Runner = { work in
            guard isSilent.withLock({ $0 }) else { return work() }
            givenUp.withLock { $0 = work }
            return nil
        }
        self.isSilent = isSilent
        self.givenUp = givenUp
        let publisher = DesktopPublisher(
            in: root.desktop(),
            command: command,
            patience: .seconds(240),
            runner: runner,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        self.publisher = try #require(publisher)
    }

    private let callback = "org.openurl.callback"

    /// Returns a registry with the current state of the desktop.
    private func registry(_ handlers: Handler...) -> Registry {
        Registry(handlers: handlers, applications: DesktopApplications(loading: root.desktop()))
    }

    private func hasEntry(_ name: String) -> Bool {
        access("\(root.path)/home/applications/\(name).desktop", F_OK) == 0
    }

    /// After a publication that was given up, one that succeeds for a single handler is not enough.
    @Test func everythingIsPublishedAfterAPublicationThatWasGivenUp() throws {
        let old = try Handler.test("com.acme.old", opening: ["old"])
        let new = try Handler.test("com.acme.new", opening: ["new"])
        isSilent.withLock { $0 = true }
        publisher.publish(registry(old))
        #expect(publisher.isLate && publisher.isStale)
        let reason = "is published later, because a file system is not responding"
        #expect(publisher.warnings(about: old) == [Diagnostic(severity: .warning, file: old.entry, reason: reason)])
        isSilent.withLock { $0 = false }
        publisher.publish(registry(old, new), insteadOf: registry(old), isRetrying: false)
        #expect(publisher.isLate && publisher.warnings(about: new) == [])
        #expect(hasEntry("com.acme.new") && !hasEntry("com.acme.old"))
        publisher.publish(registry(old, new))
        #expect(!publisher.isLate && !publisher.isStale)
        #expect(hasEntry("com.acme.old"))
    }

    /// An error that may pass is no reason to publish everything before the next attempt.
    @Test func incompletePublicationIsLateWhenItIsTriedAgain() throws {
        let handler = try Handler.test("com.acme.app")
        publisher.prepareToRetry()
        #expect(!publisher.isStale)
        // Reading the memory of this process from its start fails with the error of a device.
        let bad = try root.link("home/applications/bad.desktop", to: "/proc/self/mem")
        publisher.publish(registry(handler))
        #expect(publisher.isStale && !publisher.isLate)
        publisher.prepareToRetry()
        #expect(publisher.isLate)
        #expect(unlink(bad) == 0)
        publisher.publish(registry(handler))
        #expect(!publisher.isStale)
    }

    @Test func callbacksAreAPartOfEverything() {
        isSilent.withLock { $0 = true }
        publisher.publish(callbacks: ["callback"], 1)
        #expect(publisher.isLate)
        isSilent.withLock { $0 = false }
        publisher.publish(registry())
        #expect(hasEntry(callback))
    }

    @Test func earlierCallbacksThatArriveLateDoNothing() {
        publisher.publish(callbacks: ["callback"], 2)
        publisher.publish(callbacks: [], 1)
        #expect(hasEntry(callback))
        publisher.publish(callbacks: [], 3)
        #expect(!hasEntry(callback))
    }

    /// A publication that was given up may still take effect.
    @Test func callbacksArePublishedAgainAfterALateRemoval() throws {
        publisher.publish(callbacks: ["callback"], 1)
        #expect(hasEntry(callback))
        isSilent.withLock { $0 = true }
        publisher.publish(callbacks: [], 2)
        isSilent.withLock { $0 = false }
        let removal = try #require(givenUp.withLock { $0 })
        _ = removal()
        #expect(!hasEntry(callback))
        publisher.publish(callbacks: ["callback"], 3)
        #expect(hasEntry(callback))
    }

    @Test func everythingIsWithdrawnOnceTheCommandIsGone() throws {
        publisher.publish(registry(try .test("com.acme.app")))
        publisher.publish(callbacks: ["callback"], 1)
        #expect(hasEntry("com.acme.app") && hasEntry(callback) && !publisher.isCommandGone)
        #expect(unlink(command) == 0)
        #expect(publisher.isCommandGone)
        publisher.withdrawAll(from: registry().applications)
        #expect(!hasEntry("com.acme.app") && !hasEntry(callback))
        #expect(try root.names(in: "home/dbus-1/services") == [])
    }
}
