internal import DBus

/// An error in the form of the keys `error` and `message`, which several types have.
package struct ErrorFields: Sendable, Hashable {
    /// An error whose name need not follow D-Bus's rules.
    struct NamedError: Hashable {
        var name: String
        var message: String
    }

    /// The error, or nil. A message without a name is ignored.
    var error: NamedError? {
        get { name.map { NamedError(name: $0, message: message ?? "") } }
        set { (name, message) = (newValue?.name, newValue?.message) }
    }

    // The keys can arrive in either order.
    fileprivate var name: String?
    fileprivate var message: String?

    init(error: NamedError? = nil) {
        self.error = error
    }

    package static func == (a: ErrorFields, b: ErrorFields) -> Bool { a.error == b.error }

    package func hash(into hasher: inout Hasher) { hasher.combine(error) }
}

/// A type with the keys `error` and `message`.
package protocol ErrorReporting: Sendable {
    var errorFields: ErrorFields { get set }
}

extension Field where Root: ErrorReporting {
    /// `error`
    static var error: Field {
        Field("error", { $0.errorFields.name }, { $0.errorFields.name = $1 }, "The name of the error, if there is one.")
    }

    /// `message`
    static var message: Field {
        Field(
            "message",
            { $0.errorFields.error?.message },
            { $0.errorFields.message = $1 },
            "The error's message, for people to read."
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
    /// Creates a D-Bus error. If the name does not follow the rules, it becomes `Failed`.
    init(_ error: ErrorFields.NamedError) {
        self.init(ErrorName(error.name) ?? .failed, error.message)
    }
}
