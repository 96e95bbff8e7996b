internal import Desktop
internal import Glibc
internal import Logging
internal import UserFiles

/// The publications of a router, none of which waits for a file system that is not responding.
///
/// If a publication is given up, everything is late: nothing is certain until all handlers and the callbacks have been
/// published again.
package struct DesktopPublisher: Sendable {
    /// Runs a publication, which reads the handlers' bundles, without waiting for a file system that is not responding; nil
    /// if it was given up. It may still be done then.
    package typealias Runner =
        @Sendable (_ work: @escaping @Sendable () -> DesktopPublication) -> DesktopPublication?

    /// The published files, and the problems with them.
    private(set) var publication: DesktopPublication
    private let run: Runner
    private let log: Logger
    /// Whether everything has to be published again, because a publication was given up or was incomplete. The thread of
    /// one that was given up may still be writing files.
    private(set) var isLate = false
    /// Whether the last publication was given up.
    private var isGivenUp = false
    private var callbacks: (schemes: Set<String>, number: Int) = ([], 0)

    /// Creates a publisher that has published nothing; nil if nothing can be published.
    ///
    /// - Parameters:
    ///   - command: the absolute path of `openurl`, which the desktop runs to open URLs.
    ///   - patience: how long a publication waits for a file system that is not responding.
    ///   - runner: runs the publications; nil for one with a thread of its own.
    init?(
        in directories: DesktopDirectories,
        command: String,
        patience: Duration,
        runner: Runner?,
        log: Logger
    ) {
        guard let publication = DesktopPublication(in: directories, command: command) else { return nil }
        self.publication = publication
        let reader = PatientReader(patience: patience)
        // While an earlier publication is still running, the next one does not begin.
        run = runner ?? { work in reader.read("publication") { _, _ in work() } }
        self.log = log
    }

    /// Whether something has to be published again, because of a temporary error or a silent file system.
    var isStale: Bool { isLate || publication.isStale }

    /// Whether the command no longer exists because openurl was removed.
    var isCommandGone: Bool { unsafe access(publication.command, F_OK) != 0 }

    /// Returns the warnings about a handler that has just been published.
    func warnings(about handler: Handler) -> [Diagnostic] {
        var warnings = publication.diagnostics(of: handler.id)
        if isGivenUp {
            let reason = "is published later, because a file system is not responding"
            warnings.append(Diagnostic(severity: .warning, file: handler.entry, reason: reason))
        }
        return warnings
    }

    /// Publishes all handlers and the callbacks, even if they were published before.
    ///
    /// - Parameter registry: the registry with the desktop's current applications.
    mutating func publish(_ registry: Registry) {
        isLate = false
        change { [schemes = callbacks.schemes] publication in
            publication.publish(registry)
            publication.publish(callbacks: schemes)
        }
    }

    /// Publishes the handlers that differ, as ``DesktopPublication/publish(_:insteadOf:isRetrying:)`` does.
    mutating func publish(_ registry: Registry, insteadOf old: Registry, isRetrying: Bool) {
        change { $0.publish(registry, insteadOf: old, isRetrying: isRetrying) }
    }

    /// Writes the entry through which the desktop passes on callbacks, or removes it if there are no schemes. An
    /// earlier call that arrives late does nothing.
    ///
    /// - Parameters:
    ///   - schemes: all schemes for which programs are waiting.
    ///   - number: greater than the number of every earlier call.
    mutating func publish(callbacks schemes: Set<String>, _ number: Int) {
        guard number > callbacks.number else { return }
        callbacks = (schemes, number)
        change { $0.publish(callbacks: schemes) }
    }

    /// Removes everything that tells the desktop and the bus about the handlers and the callbacks.
    ///
    /// - Parameter applications: the desktop's current applications.
    mutating func withdrawAll(from applications: DesktopApplications) {
        change { publication in
            publication.publish(callbacks: [])
            publication.publish(Registry(handlers: [], applications: applications))
        }
    }

    /// Makes everything late if a temporary error prevented a part of the publications.
    mutating func prepareToRetry() {
        if publication.isStale { isLate = true }
    }

    private mutating func change(_ change: @escaping @Sendable (inout DesktopPublication) -> Void) {
        let before = publication
        let after = run {
            var publication = before
            change(&publication)
            return publication
        }
        if let after {
            publication = after
        } else {
            isLate = true
            // The work that was given up may still write or remove the entry.
            publication.forgetCallbacks()
            if !isGivenUp {
                log.warning("handlers are published later, because a file system is not responding")
            }
        }
        isGivenUp = after == nil
    }
}
