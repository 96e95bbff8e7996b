/// How much a connection takes from others, and from its own program.
///
/// A value with which a connection could not work is replaced by the nearest with which it can.
public struct ConnectionLimits: Sendable, Hashable {
    /// Calls of one sender that wait for their answer; one more is answered with `LimitsExceeded`.
    ///
    /// On a connection without a bus everybody is one sender: the other end.
    public var callsPerSender = 8192
    /// Calls of all senders together.
    public var calls = 65_536
    /// Bytes of values in one call's arguments.
    public var bodyBytes = 1 << 20 {
        didSet { bodyBytes = max(bodyBytes, 0) }
    }
    /// Bytes of values in the arguments of one sender's calls that wait for their answer.
    public var argumentBytesPerSender = 32 << 20
    /// Bytes of values in the arguments of all calls that wait for their answer.
    public var argumentBytes = 64 << 20
    /// Descriptors in the arguments of one sender's calls that wait for their answer.
    public var descriptorsPerSender = 64
    /// Descriptors in the arguments of all calls that wait for their answer; a process has 1024 as a rule.
    public var descriptors = 256
    /// Bytes of messages that have arrived and are not read yet, at least 64 KiB; above it the socket is left alone.
    public var receivedBytes = 16 << 20 {
        didSet { receivedBytes = max(receivedBytes, Self.smallest) }
    }
    /// Bytes of a message that is sent, from 64 KiB up to ``largestMessage``.
    ///
    /// On a connection without a bus it is also the largest message that may arrive: both ends agree on it, or the one
    /// with the lower limit ends the connection.
    public var messageBytes = 16 << 20 {
        didSet { messageBytes = min(max(messageBytes, Self.smallest), Self.largestMessage) }
    }

    /// Bytes that are sent and that the other end has not taken yet; above it messages wait their turn in the program, where
    /// a call that is cancelled is never sent.
    ///
    /// Answers and signals, which nobody waits for, wait up to ``unreadBytes``.
    public var queuedBytes = 4 << 20 {
        didSet { queuedBytes = min(max(queuedBytes, 0), Int(Int32.max)) }
    }

    /// Bytes that wait for the other end before the connection is ended, with ``ConnectionEnd/unread``: four times
    /// ``queuedBytes`` and one message.
    ///
    /// Calls that wait their turn in the program are not counted while somebody waits for their answer.
    public var unreadBytes: Int { 4 * queuedBytes + messageBytes }

    /// What D-Bus allows in an array, 64 MiB; a message may have twice that, and a bus drops a connection that sends more.
    public static let largestMessage = 64 << 20

    /// Enough for any message without a body.
    private static let smallest = 64 << 10

    /// The limits that a service with one object needs.
    public init() {}
}

extension Duration {
    /// More than anybody waits, and little enough to be added to any time: about 30 years.
    static let longest = Duration.seconds(1_000_000_000)
}
