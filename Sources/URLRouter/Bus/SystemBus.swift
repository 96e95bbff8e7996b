internal import DBus
internal import Logging
internal import Reactor

/// The router's connection to the system bus, which is opened when it is first needed.
///
/// The connection exports nothing, so it takes no calls, and its limits are separate from those of the session bus. It
/// stays open, because it costs nothing while nothing happens. This belongs to the router's actor.
final class SystemBus {
    /// Nil if the router uses no system bus.
    private let address: BusAddress?
    private let loop: EventLoop
    private let tasks: RouterTasks
    let log: Logger
    private var current: Connection?
    private var opening: Task<Void, Never>?
    /// Whether there was no system bus. The router does not look for one again.
    private var isMissing = false

    init(_ address: BusAddress?, on loop: EventLoop, _ tasks: RouterTasks, log: Logger) {
        self.address = address
        self.loop = loop
        self.tasks = tasks
        self.log = log
    }

    /// Whether there may be a system bus.
    var mayExist: Bool { address != nil && !isMissing }

    /// Time limit for connecting, and for each call on the connection.
    static let timeout = Duration.seconds(5)

    /// Returns the connection; nil if there is no system bus.
    func connection() async -> Connection? {
        if current == nil, opening == nil, mayExist { opening = tasks.start { await self.open() } }
        await opening?.value
        return current
    }

    private func open() async {
        guard let address else { return }
        do throws(ConnectionError) {
            let connection = try await Connection.open(address, on: loop, timeout: Self.timeout)
            current = connection
            tasks.start {
                await connection.waitUntilClosed()
                self.current = nil
            }
        } catch {
            isMissing = true
            log.debug("there is no system bus: \(error)")
        }
        opening = nil
    }
}
