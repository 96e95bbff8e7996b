internal import Reactor

/// A signal as it arrived.
public struct ReceivedSignal<Body: MessageBody>: Sendable {
    /// Who sent it, as the bus vouches for; nil on a connection without a bus.
    public let sender: BusName?
    /// The object that emitted it.
    public let path: ObjectPath
    /// Its values.
    public let body: Body
    /// How many signals were dropped just before this one, because they came faster than they were taken.
    public internal(set) var lost = 0
}

/// Signals of one kind, in the order in which they arrived.
///
/// The subscription begins before the sequence is handed out, so nothing is missed between the two, and ends when
/// neither the sequence nor an iterator of it is left. The sequence ends when the connection does. Each signal goes to one
/// iterator: whoever wants all of them subscribes for itself.
public struct SignalSequence<Body: MessageBody>: AsyncSequence, Sendable {
    /// One signal.
    public typealias Element = ReceivedSignal<Body>
    /// The sequence ends, and never throws.
    public typealias Failure = Never

    let buffer: SignalBuffer<Body>
    let subscription: Subscription

    /// Makes an iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(buffer: buffer, subscription: subscription)
    }

    /// Takes the signals out of the buffer.
    public struct Iterator: AsyncIteratorProtocol {
        let buffer: SignalBuffer<Body>
        let subscription: Subscription

        /// The next signal; nil when the connection has ended or the task is cancelled.
        public mutating func next() async -> ReceivedSignal<Body>? {
            await next(isolation: #isolation)
        }

        /// The next signal; nil when the connection has ended or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ReceivedSignal<Body>? {
            // Resumed on the loop, subscribers there go on in the order in which the signals came.
            await withTaskExecutorPreference(subscription.loop) { await buffer.next() }
        }
    }
}

/// Ends a subscription with its last reference.
final class Subscription: Sendable {
    var loop: EventLoop { connection.loop }
    private let connection: Connection
    private let id: UInt64

    init(_ connection: Connection, _ id: UInt64) {
        self.connection = connection
        self.id = id
    }

    deinit {
        connection.loop.execute { [connection, id] in connection.assumeIsolated { $0.unsubscribe(id) } }
    }
}
