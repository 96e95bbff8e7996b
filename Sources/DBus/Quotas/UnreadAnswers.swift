internal import Reactor

/// The questions to a bus about the messages that callers have not read yet.
///
/// Until a message's receiver reads it, dbus-daemon keeps the message and counts it against the sender. Above a limit,
/// it stops reading from the sender, so a caller that never reads could cut a service off from the bus.
struct UnreadAnswers {
    /// Whether the bus reports what its connections have not read; true until it turns out otherwise.
    private var isReported = true

    /// The time before the bus is asked again about a caller that has left a lot unread. The bus has no signal for
    /// this.
    private static let timeToRead = Duration.seconds(1)

    /// Counts a message to a caller.
    static func countSent(_ bytes: Int, to receiver: BusName?, on connection: isolated Connection) {
        guard connection.newestConnection != nil, connection.unreadAnswers.isReported, let receiver,
            connection.server.calls.countSent(bytes, to: receiver)
        else { return }
        follow(receiver, on: connection)
    }

    /// Asks the bus again and again how much a caller has not read, until it is only a little.
    ///
    /// If the caller has been sent more in the meantime, this asks again without a pause. Otherwise, a caller that
    /// reads nothing would be sent as much as this program can write during the pause.
    private static func follow(_ receiver: BusName, on connection: isolated Connection) {
        connection.loop.startTask { await UnreadAnswers.ask(about: receiver, on: connection) }
    }

    private static func ask(about receiver: BusName, on connection: isolated Connection) async {
        let report: UnreadReport
        do throws(CallError) {
            let bus = BusDriver.object
            report = UnreadReport(try await connection.call(BusDriver.getStatistics, on: bus, receiver.rawValue))
        } catch {
            report = UnreadReport(error)
        }
        if report == .never { connection.unreadAnswers.isReported = false }
        let isLater = connection.server.calls.setUnread(report.bytes, of: receiver)
        // The caller's calls may start again, or no longer start.
        if connection.server.calls.waiting > 0 { connection.scheduleDispatch() }
        connection.server.resumeIfAnswered(on: connection)
        guard isLater, connection.isOpen else { return }
        connection.loop.schedule(at: .now + timeToRead) {
            connection.assumeIsolated { connection in
                if connection.server.calls.askAgain(about: receiver) { UnreadAnswers.follow(receiver, on: connection) }
            }
        }
    }
}

/// A bus's report of the bytes that it holds for a connection.
enum UnreadReport: Equatable {
    case bytes(Int)
    /// The bus did not report them this time.
    case unknown
    /// This bus never reports them.
    case never

    init(_ statistics: [String: Value]) {
        self = if case .uint32(let bytes) = statistics["OutgoingBytes"] { .bytes(Int(bytes)) } else { .never }
    }

    init(_ error: CallError) {
        switch error {
        case .remote(let error) where error.name == .nameHasNoOwner: self = .bytes(0)
        case .remote(let error)
        where error.isFromMissingMethod || error.name == "org.freedesktop.DBus.Error.AccessDenied":
            self = .never
        // Either the connection has ended, or the bus has not answered in time, or it has reached one of its limits.
        default: self = .unknown
        }
    }

    /// The number of bytes, which is 0 if the bus never reports them; nil if it is not known.
    var bytes: Int? {
        switch self {
        case .bytes(let bytes): bytes
        case .unknown: nil
        case .never: 0
        }
    }
}
