/// The limits for the resources that a connection uses for other programs, and for its own.
///
/// A value that would make a connection unusable is replaced by the nearest usable value.
public struct ConnectionLimits: Sendable, Hashable {
    /// The number of calls that may wait for their answer. Further calls are answered with `LimitsExceeded`, in their turn; a
    /// call gets no answer if four times as many calls of its account wait for such an error, or fewer where those of other
    /// accounts wait too.
    ///
    /// One account (``Connection/setAccount(_:isPaced:of:)``) gets at most half of what is left. The same applies to
    /// ``argumentBytes`` and ``descriptors``. On a connection without a bus, the other end is the only account. Everything
    /// that is counted is given back when the call has its answer, or when its sender leaves the bus. The time limit of the caller
    /// gives nothing back, because a service does not learn of it.
    public var calls = 16_384
    /// The bytes of values in the arguments of one call.
    public var bodyBytes = 1 << 20 {
        didSet { bodyBytes = max(bodyBytes, 0) }
    }
    /// The bytes of values in the arguments of calls that wait for their answer.
    public var argumentBytes = 64 << 20
    /// The descriptors in the arguments of calls that wait for their answer. A process usually has 1024 descriptors.
    public var descriptors = 256
    /// The bytes of a message that is sent, from 64 KiB up to ``largestMessage``.
    ///
    /// On a connection without a bus, the limit also applies to messages that arrive. Both ends need the same limit:
    /// otherwise the end with the lower limit closes the connection when a larger message arrives.
    public var messageBytes = 16 << 20 {
        didSet { messageBytes = min(max(messageBytes, Self.smallest), Self.largestMessage) }
    }

    /// The bytes of a call that is sent; nil for ``messageBytes``. A larger call throws ``CallError/notSent(_:)``.
    public var callBytes: Int?
    /// The bytes of a message that arrives on a connection that a ``PeerListener`` has accepted; nil for ``messageBytes``.
    ///
    /// The other end gets as much memory before its message is whole. A larger message ends the connection.
    public var receivedMessageBytes: Int?

    var callSize: Int { min(callBytes ?? messageBytes, messageBytes) }

    /// The bytes that have been sent but that the other end has not taken. Above the limit, messages wait in the
    /// program.
    ///
    /// A call that is cancelled while it waits in the program is never sent. Answers and signals, for which no task
    /// waits, may use up to ``unreadBytes``.
    public var queuedBytes = 4 << 20 {
        didSet { queuedBytes = min(max(queuedBytes, 0), Int(Int32.max)) }
    }

    /// The bytes that may wait for the other end: four times ``queuedBytes`` and one message. Above the limit, the
    /// connection ends with ``ConnectionEnd/unread``. On a bus, an answer that is too large for the room is replaced by the
    /// error `LimitsExceeded`.
    ///
    /// Calls that wait in the program do not count.
    public var unreadBytes: Int { 4 * queuedBytes + messageBytes }

    /// The largest array that D-Bus allows, 64 MiB. A message may be twice as large; a bus closes a connection that
    /// sends a larger one.
    public static let largestMessage = 64 << 20

    /// The largest message that a bus passes on, by "Message Format" in the D-Bus specification.
    static let largestBusMessage = 128 << 20

    /// The bytes of answers and signals that callers have not read, and that the bus keeps for them.
    ///
    /// dbus-daemon counts these bytes to the sender too: above its own limit, usually 1 GB, dbus-daemon no longer reads from the
    /// sender. One account leaves at most half of what is left unread: then its calls do not start, and signals to its
    /// connections are dropped, until it reads or leaves. The limit applies to a connection that follows the others
    /// (``Connection/followConnections(_:)``) on a bus that tells its statistics; dbus-broker has a limit of its own.
    public var unreadAnswerBytes = 64 << 20

    /// Whether the calls of each sender start at a limited pace until ``Connection/setAccount(_:isPaced:of:)`` says otherwise.
    public var pacesStrangers = false

    /// The smallest limit that has room for any message without a body.
    private static let smallest = 64 << 10

    /// Creates limits that are large enough for a service with one object.
    public init() {}
}

extension Duration {
    /// The longest time limit, about 30 years. The sum of this duration and any time does not overflow.
    static let longest = Duration.seconds(1_000_000_000)
}
