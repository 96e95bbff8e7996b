internal import DBus
internal import OpenURLBus

/// What arrived for the main actor and waits for its turn, in the order of arrival.
struct EventQueue: Sendable {
    typealias Event = @MainActor @Sendable () async -> Void

    /// How many events may wait; the router keeps to the same number.
    static let limit = 16_384

    let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation

    init() {
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.limit))
    }

    /// Runs `body` on the main actor when all events before it are done, and returns what it returns.
    ///
    /// - Throws: what `body` throws; `limitsExceeded` when too much waits; `ServiceUnknown` when the handler is ending, which
    ///   tells the router that this process has not seen the URL.
    func run<T: Sendable>(_ body: @escaping @MainActor @Sendable () async throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { result in
            let added = continuation.yield {
                do {
                    result.resume(returning: try await body())
                } catch {
                    result.resume(throwing: error)
                }
            }
            switch added {
            case .enqueued: break
            case .dropped:
                result.resume(throwing: OpenURLError(.limitsExceeded, "\(Self.limit) events are waiting already"))
            default:
                result.resume(throwing: RemoteError(.serviceUnknown, "the handler is ending"))
            }
        }
    }

    /// Adds the last event.
    func finish(_ event: @escaping Event) {
        continuation.yield(event)
        continuation.finish()
    }
}
