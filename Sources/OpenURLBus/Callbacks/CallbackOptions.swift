package import DBus

/// Options for waiting for a callback: the `options` of ``CallbackInterface/request``.
public struct CallbackOptions: Sendable, Hashable {
    /// Last element of the handle's path; nil lets the router choose it.
    public var handleToken: HandleToken?
    /// The value that the callback must have as `state`. If this is nil, the `state` of the URL that is opened is used;
    /// if that URL has none either, any value is accepted.
    public var state: String?
    /// Time limit for the wait, rounded up to whole milliseconds: at most ``maximumTimeout``, and ``usualTimeout`` if
    /// this is nil.
    public var timeout: Duration?
    /// Programs that may send the callback; if empty, any program may send it.
    ///
    /// Each element is the identifier of a handler or of a sandbox, a raw value of ``CallerClass``, or the absolute
    /// path of a program.
    public var answerFrom: [String] = []

    /// Activation token, which lets the program that opens the URL take the focus (`XDG_ACTIVATION_TOKEN`).
    public var activationToken: String?

    /// Time limit if the program sets none.
    public static let usualTimeout = Duration.seconds(300)
    /// The longest time limit that a program can set.
    public static let maximumTimeout = Duration.seconds(86_400)
    /// Maximum size of ``state`` and of each element of ``answerFrom``, in bytes.
    public static let maximumBytes = 4096
    /// Maximum number of elements in ``answerFrom``.
    public static let maximumSources = 16

    /// Creates empty options.
    public init() {}

    private var milliseconds: UInt32? {
        get { timeout.map { UInt32(clamping: $0.milliseconds) } }
        set { timeout = newValue.map { .milliseconds(Int($0)) } }
    }
}

extension CallbackOptions: Record {
    package static let fields = FieldList(
        initial: CallbackOptions(),
        Field(
            "handle-token",
            { $0.handleToken },
            { $0.handleToken = $1 },
            "The last element of the handle's path: 1 to 64 ASCII letters, digits and underscores."
        ),
        Field(
            "state",
            { $0.state },
            { $0.state = $1 },
            "The value that the callback must have as `state`; without the key, the `state` of the URL that is opened."
        ),
        Field(
            "timeout",
            { $0.milliseconds },
            { $0.milliseconds = $1 },
            "How long the program waits, in milliseconds; five minutes without the key, and at most a day."
        ),
        Field(
            "answer-from",
            { $0.answerFrom },
            { $0.answerFrom = $1 },
            omitting: [],
            "The programs that may send the callback: identifiers, classes of callers, or absolute paths; at most 16."
        ),
        Field(
            "activation-token",
            { $0.activationToken },
            { $0.activationToken = $1 },
            "The token that lets the program that opens the URL take the focus."
        )
    )

    package func validate() throws(MessageDecodingError) {
        guard answerFrom.count <= Self.maximumSources else {
            throw .invalidValue("'answer-from' lists more than \(Self.maximumSources) programs")
        }
        guard ([state].compactMap(\.self) + answerFrom).allSatisfy({ $0.utf8.count <= Self.maximumBytes }) else {
            throw .invalidValue("'state' or 'answer-from' has a string of more than \(Self.maximumBytes) bytes")
        }
        guard timeout.map({ .zero < $0 && $0 <= Self.maximumTimeout }) ?? true else {
            throw .invalidValue("'timeout' must be between 1 ms and a day")
        }
    }
}
