public import DBus

/// Facts about how a wait for a callback ended, or about a callback that was refused: the `details` of
/// ``CallbackHandleInterface/completed`` and ``CallbackHandleInterface/refused``.
public struct CallbackDetails: Sendable, Hashable {
    /// The program that sent the callback, as the bus and the kernel describe it.
    public var source = OpenContext.Source()
    /// Bundle identifier of the handler that sent the callback; nil for another program.
    public var sourceApplication: String?
    /// Activation token, which lets the program take the focus (`XDG_ACTIVATION_TOKEN`).
    public var activationToken: String?
    /// Why the wait ended without a callback, or why a callback was refused.
    public var error: RemoteError? {
        get { errorFields.error.map(RemoteError.init) }
        set { errorFields.error = newValue.map(ErrorFields.NamedError.init) }
    }

    package var errorFields = ErrorFields()

    /// Creates empty details.
    public init() {}
}

extension CallbackDetails: Record, ErrorReporting {
    package static let fields = FieldList(
        initial: CallbackDetails(),
        Field(
            "source",
            { $0.source },
            { $0.source = $1 },
            omitting: OpenContext.Source(),
            "The program that sent the callback, as the bus and the kernel describe it."
        ),
        Field(
            "source-application",
            { $0.sourceApplication },
            { $0.sourceApplication = $1 },
            "The bundle identifier of the handler that sent the callback."
        ),
        Field(
            "activation-token",
            { $0.activationToken },
            { $0.activationToken = $1 },
            "The token that lets the program take the focus."
        ),
        .error,
        .message
    )
}
