internal import DBus
internal import DequeModule
internal import OpenURLBus
internal import Processes

/// Callers that the router has looked up: the last thousand.
///
/// Because a bus never gives the same unique name to a second connection, an entry always belongs to the process that
/// opened the connection. But by now, another process may hold the connection: see ``Entry/isUnchanged``.
struct KnownCallers {
    private static let limit = 1024

    /// This is a class, so that the many look-ups of a caller do not copy the facts about it.
    final class Entry {
        let source: OpenContext.Source
        /// The connection's process; nil if it had exited before it could be examined. If it passes URLs on for another
        /// process, the source is that other process.
        let process: ProcessIdentity?
        /// The caller, as long as it is not a handler.
        private lazy var caller = Caller(source, pid: process?.pid)
        /// The application that was charged for the caller's last request; nil before the first.
        var account: String?
        /// Whether the connection limits the rate of the caller's calls; nil if it does not charge ``account`` for them yet.
        var isPaced: Bool?
        /// The process's program.
        private let program: String?

        init(source: OpenContext.Source, process: ProcessIdentity?) {
            self.source = source
            self.process = process
            program = process.flatMap { Self.program(of: $0) }
        }

        /// Returns the caller, as long as it is not a handler.
        ///
        /// - Parameter command: the application or handler whose command the caller descends from; nil if there is none.
        func caller(ofCommand command: String?) -> Caller {
            guard let command else { return caller }
            return Caller(source, pid: process?.pid, command: command)
        }

        /// Whether the connection still belongs to the same process, running the same program. This is checked only for
        /// the user's programs.
        ///
        /// When a process exits, it may leave its connection to a child. It may also execute another program, such as
        /// one that creates a sandbox.
        var isUnchanged: Bool {
            guard source.callerClass == .known(.user), let process else { return true }
            // Check the identity last: only if the process is still there does everything above describe it.
            return Self.program(of: process) == program && !ProcessConfinement.isConfined(pid: process.pid)
                && ProcessIdentity(pid: process.pid) == process
        }

        /// Returns the path of a program, even if its file was replaced.
        private static func program(of process: ProcessIdentity) -> String? {
            ProcessProgram.path(pid: process.pid).map(ProcessProgram.withoutMark)
        }
    }

    private var entries: [BusName: Entry] = [:]
    private var order: Deque<BusName> = []

    subscript(name: BusName) -> Entry? { entries[name] }

    mutating func add(_ name: BusName, _ entry: Entry) {
        // If an entry replaces another one, it keeps that one's position in the order.
        guard entries.updateValue(entry, forKey: name) == nil else { return }
        order.append(name)
        if order.count > Self.limit, let oldest = order.popFirst() { entries[oldest] = nil }
    }
}
