internal import DBus
internal import DequeModule
internal import OpenURLBus
internal import Processes

/// The callers that the router has looked up: the last thousand.
///
/// A bus never gives a unique name to a second connection, so an entry is always that of the process that has connected. The connection
/// may have another process by now: see ``Entry/isUnchanged``.
struct KnownCallers {
    private static let limit = 1024

    /// The class keeps the many look-ups of a caller from copying the facts about it.
    final class Entry {
        let source: OpenContext.Source
        /// The process of the connection; nil if the process had exited before it could be asked. The source may be another
        /// process, for which this one passes URLs on.
        let process: ProcessIdentity?
        /// The application that the last request of the caller was counted to; nil before the first.
        var account: String?
        /// The program of the process.
        private let program: String?

        init(source: OpenContext.Source, process: ProcessIdentity?) {
            self.source = source
            self.process = process
            program = process.flatMap { Self.program(of: $0) }
        }

        /// Whether the process of the connection still is what it was, if it is not confined.
        ///
        /// A process may leave its connection to a child when it ends, or execute another program, such as one that makes a sandbox.
        var isUnchanged: Bool {
            guard source.callerClass == .known(.user), let process else { return true }
            // The identity comes last: what was read before is of this process only if it is still there.
            return Self.program(of: process) == program && !ProcessConfinement.isConfined(pid: process.pid)
                && ProcessIdentity(pid: process.pid) == process
        }

        /// The path of a program, also after its file was replaced.
        private static func program(of process: ProcessIdentity) -> String? {
            ProcessProgram.path(pid: process.pid).map(ProcessProgram.withoutMark)
        }
    }

    private var entries: [BusName: Entry] = [:]
    private var order: Deque<BusName> = []

    subscript(name: BusName) -> Entry? { entries[name] }

    mutating func add(_ name: BusName, _ entry: Entry) {
        // An entry that takes the place of another one keeps its place in the order.
        guard entries.updateValue(entry, forKey: name) == nil else { return }
        order.append(name)
        if order.count > Self.limit, let oldest = order.popFirst() { entries[oldest] = nil }
    }
}
