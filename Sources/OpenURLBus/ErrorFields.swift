internal import DBus

/// An error as the keys `error` and `message`, which several types have.
package struct ErrorFields: Sendable, Hashable {
    /// An error whose name does not have to follow the rules of D-Bus.
    struct NamedError: Hashable {
        var name: String
        var message: String
    }

    /// The error; nil where there is none.
    var error: NamedError?

    fileprivate var name: String? {
        get { error?.name }
        set { error = newValue.map { NamedError(name: $0, message: "") } }
    }

    // A message without the name of an error is ignored. The field of the name therefore comes first.
    fileprivate var message: String? {
        get { error?.message }
        set { if let newValue { error?.message = newValue } }
    }
}

/// A type with the keys `error` and `message`.
package protocol ErrorReporting: Sendable {
    var errorFields: ErrorFields { get set }
}

extension Field where Root: ErrorReporting {
    /// The key `error`. The key ``message`` follows it in a list.
    static var error: Field {
        Field("error", { $0.errorFields.name }, { $0.errorFields.name = $1 }, "The name of the error, if there is one.")
    }

    /// The key `message`.
    static var message: Field {
        Field(
            "message",
            { $0.errorFields.message },
            { $0.errorFields.message = $1 },
            "The message of the error, for a person."
        )
    }
}

extension ErrorFields: Record, ErrorReporting {
    package static let fields = FieldList(initial: ErrorFields(), .error, .message)

    package var errorFields: ErrorFields {
        get { self }
        set { self = newValue }
    }
}

extension ErrorFields.NamedError {
    init(_ error: RemoteError) {
        self.init(name: error.name.rawValue, message: error.message)
    }
}

extension RemoteError {
    /// Creates an error of D-Bus; a name that does not follow the rules becomes `Failed`.
    init(_ error: ErrorFields.NamedError) {
        self.init(ErrorName(error.name) ?? .failed, error.message)
    }
}
