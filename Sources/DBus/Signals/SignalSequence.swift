internal import Reactor

/// A signal that has arrived.
public struct ReceivedSignal<Body: MessageBody>: Sendable {
    /// The sender, which the bus guarantees. Without a bus, it is the name that this program has given the other end
    /// (``Connection/namePeer(_:)``), or nil.
    public let sender: BusName?
    /// The object that emitted the signal.
    public let path: ObjectPath
    /// The signal's values.
    public let body: Body
    /// Number of signals that were dropped just before this one, because the subscriber was too slow.
    public internal(set) var lost = 0
}

/// The signals of one kind, in the order in which they arrive.
///
/// The subscription begins before you get the sequence, so you miss no signals. The subscription ends when neither the
/// sequence nor an iterator is left. The sequence ends with the connection. Each signal goes to one iterator, so if
/// several parts of a program need all signals, each has to subscribe.
public struct SignalSequence<Body: MessageBody>: AsyncSequence, Sendable {
    /// A signal that has arrived.
    public typealias Element = ReceivedSignal<Body>
    /// Never, because the sequence does not throw.
    public typealias Failure = Never

    let buffer: SignalBuffer<Body>
    let subscription: Subscription

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(buffer: buffer, subscription: subscription)
    }

    /// An iterator that takes signals out of the buffer.
    public struct Iterator: AsyncIteratorProtocol {
        let buffer: SignalBuffer<Body>
        let subscription: Subscription

        /// Returns the next signal; nil if the connection has ended or the task is cancelled.
        public mutating func next() async -> ReceivedSignal<Body>? {
            await next(isolation: #isolation)
        }

        /// Returns the next signal; nil if the connection has ended or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ReceivedSignal<Body>? {
            // Resume tasks on the loop, so that subscribers on the loop continue in the order in which the signals
            // arrived.
            await withTaskExecutorPreference(subscription.loop) { await buffer.next() }
        }
    }
}

/// An object that keeps a subscription alive until the last reference to it is gone.
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
