/// Limits on what a connection may use, both on behalf of other programs and for its own.
///
/// If a value would make a connection unusable, the nearest usable value takes its place.
public struct ConnectionLimits: Sendable, Hashable {
    /// Number of calls that may wait for an answer. Further calls are answered with `LimitsExceeded`, in their turn; a
    /// call gets no answer if four times as many of its account's calls are waiting for such an error, or fewer if
    /// other accounts' calls are waiting too.
    ///
    /// One account (``Connection/setAccount(_:isPaced:of:)``) gets at most half of what is left; this also applies to
    /// ``argumentBytes`` and ``descriptors``. On a connection without a bus, the other end is the only account.
    /// Everything that a call uses is released when the call has its answer. If the connection learns that the call's
    /// sender has left the bus (``Connection/followConnections(_:)``), it is released then, or when the call starts if
    /// that is later. A call with descriptors that starts later keeps everything until its answer. Nothing is released
    /// when the caller's own time limit ends the call, because a service is not told about that.
    public var calls = 16_384 {
        // Eight times as many may wait for an error.
        didSet { calls = min(max(calls, 0), Int.max / 8) }
    }
    /// Bytes of values in the arguments of one call.
    public var bodyBytes = 1 << 20 {
        didSet { bodyBytes = max(bodyBytes, 0) }
    }
    /// Bytes of values in the arguments of all unanswered calls.
    public var argumentBytes = 64 << 20 {
        didSet { argumentBytes = max(argumentBytes, 0) }
    }
    /// Descriptors in the arguments of all unanswered calls. A process usually has 1024 descriptors.
    ///
    /// Without a bus, as many more may have arrived before the rest of their messages. A message of more than 16 KiB
    /// counts even if its rest is already in the socket. So while other connections hold the share of its account
    /// (``Connection/countArrivals(towards:)``), a connection may end because of such a message.
    public var descriptors = 256 {
        didSet { descriptors = max(descriptors, 0) }
    }
    /// The maximum size of a message that is sent, in bytes, from 64 KiB up to ``largestMessage``.
    ///
    /// On a connection without a bus, this also applies to messages that arrive. Use the same limit at both ends:
    /// otherwise the end with the lower limit closes the connection when a larger message arrives.
    public var messageBytes = 16 << 20 {
        didSet { messageBytes = min(max(messageBytes, Self.smallest), Self.largestMessage) }
    }

    /// The maximum size of a call that is sent, in bytes; nil for ``messageBytes``. A larger call throws
    /// ``CallError/notSent(_:)``.
    public var callBytes: Int?
    /// The maximum size of a message that arrives on a connection that a ``PeerListener`` has accepted, in bytes; nil
    /// for ``messageBytes``.
    ///
    /// The other end gets this much memory before its message is complete. A larger message ends the connection.
    public var receivedMessageBytes: Int?

    var callSize: Int { min(callBytes ?? messageBytes, messageBytes) }

    /// Bytes that may be sent before the other end takes any. Above the limit, messages wait in the program.
    ///
    /// A call that is cancelled while it is waiting in the program is never sent. Answers and signals, for which no
    /// task is waiting, may use up to ``unreadBytes``.
    public var queuedBytes = 4 << 20 {
        didSet { queuedBytes = min(max(queuedBytes, 0), Int(Int32.max)) }
    }

    /// Bytes that may wait for the other end: four times ``queuedBytes``, plus one message. Above the limit, the
    /// connection ends with ``ConnectionEnd/unread``. An answer for which there is no room is replaced by the error
    /// `LimitsExceeded`. Without a bus, a signal to one connection is dropped if more than half of the limit is in use.
    ///
    /// Calls that wait in the program do not count.
    public var unreadBytes: Int { 4 * queuedBytes + messageBytes }

    /// The largest array that D-Bus allows, 64 MiB. A message may be twice as large; if it is larger still, a bus
    /// closes the connection.
    public static let largestMessage = 64 << 20

    /// The largest message that a bus passes on, according to "Message Format" in the D-Bus specification.
    static let largestBusMessage = 128 << 20

    /// Bytes of answers and signals that the bus may keep for callers that have not read them.
    ///
    /// dbus-daemon counts these bytes against the sender too: above its own limit, usually 1 GB, it no longer reads
    /// from the sender. One account may leave at most half of the remaining bytes unread: beyond that, its calls do not
    /// start, and signals to its connections are dropped, until it reads or leaves. This needs a connection that
    /// follows the others (``Connection/followConnections(_:)``) on a bus that reports its statistics; dbus-broker has
    /// its own limit.
    ///
    /// Without a bus, the bytes wait in this program. All connections that share their limits may keep as many, too. If
    /// an account exceeds its share, those of its connections that leave more than 64 KiB unread get the error
    /// `LimitsExceeded` instead of further answers, and no signals. An answer that is larger than that counts as unread
    /// before it is sent.
    public var unreadAnswerBytes = 64 << 20 {
        didSet { unreadAnswerBytes = max(unreadAnswerBytes, 0) }
    }

    /// Whether each sender may start only a limited number of calls per second, until
    /// ``Connection/setAccount(_:isPaced:of:)`` says otherwise.
    public var pacesStrangers = false

    /// The smallest limit that has room for any message without a body.
    private static let smallest = 64 << 10

    /// Creates limits that are large enough for a service with one object.
    public init() {}
}

extension Duration {
    /// The longest time limit, about 30 years. Adding it to any time does not overflow.
    static let longest = Duration.seconds(1_000_000_000)
}
