/// The name of a connection on a bus: well-known (`org.openurl.Router1`) or unique (`:1.42`).
public struct BusName: ValidatedName {
    /// The name as a string.
    public let rawValue: String

    /// Takes a string that follows the rule; nil for any other.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Takes a string that is known to follow the rule.
    init(trusted: String) {
        rawValue = trusted
    }

    /// Two or more elements of `[A-Za-z0-9_-]` between dots, at most 255 bytes; only a unique name's may start with a digit.
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        guard bytes.count <= NameRule.maximumLength, let first = bytes.first else { return false }
        return first == UInt8(ascii: ":")
            ? NameRule.isDotted(bytes.dropFirst(), allowsHyphen: true, digitsMayLead: true)
            : NameRule.isDotted(bytes, allowsHyphen: true)
    }

    /// Whether the bus made the name for one connection; such a name is never given to another.
    public var isUnique: Bool { rawValue.utf8.first == UInt8(ascii: ":") }

    /// The message bus itself.
    public static let bus: BusName = "org.freedesktop.DBus"
}

/// The path of an object within a connection, such as `/org/openurl/Router1`.
public struct ObjectPath: ValidatedName {
    /// The path as a string.
    public let rawValue: String

    /// Takes a string that follows the rule; nil for any other.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Takes a string that is known to follow the rule.
    init(trusted: String) {
        rawValue = trusted
    }

    /// `/`, or elements of `[A-Za-z0-9_]`, each after a slash, none empty.
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        guard bytes.first == UInt8(ascii: "/") else { return false }
        var previous = UInt8(ascii: "/")
        for byte in bytes.dropFirst() {
            let isSlash = byte == UInt8(ascii: "/")
            guard isSlash ? previous != byte : NameRule.isLetterOrUnderscore(byte) || NameRule.isDigit(byte) else {
                return false
            }
            previous = byte
        }
        return bytes.count == 1 || previous != UInt8(ascii: "/")
    }

    /// The object that a program of that name exports: dots become slashes and hyphens underscores, as the desktop entry
    /// specification has it ("D-Bus Activation").
    public init(for name: BusName) {
        let path = name.rawValue.utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "."): UInt8(ascii: "/")
            case UInt8(ascii: "-"), UInt8(ascii: ":"): UInt8(ascii: "_")
            default: byte
            }
        }
        self.init(trusted: "/" + String(decoding: path, as: UTF8.self))
    }
}

/// The name of an interface, such as `org.openurl.Handler1`.
public struct InterfaceName: ValidatedName {
    /// The name as a string.
    public let rawValue: String

    /// Takes a string that follows the rule; nil for any other.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Takes a string that is known to follow the rule.
    init(trusted: String) {
        rawValue = trusted
    }

    /// Two or more elements of `[A-Za-z0-9_]` between dots, none that starts with a digit, at most 255 bytes.
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        bytes.count <= NameRule.maximumLength && NameRule.isDotted(bytes, allowsHyphen: false)
    }
}

/// The name of an error, such as `org.freedesktop.DBus.Error.NoReply`.
public struct ErrorName: ValidatedName {
    /// The name as a string.
    public let rawValue: String

    /// Takes a string that follows the rule; nil for any other.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Takes a string that is known to follow the rule.
    init(trusted: String) {
        rawValue = trusted
    }

    /// The same rule as for an interface.
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        InterfaceName.isValid(bytes)
    }

    /// The connection has ended.
    public static let disconnected: ErrorName = "org.freedesktop.DBus.Error.Disconnected"
    /// Something failed, and no other name fits.
    public static let failed: ErrorName = "org.freedesktop.DBus.Error.Failed"
    /// The arguments are not what the method takes.
    public static let invalidArguments: ErrorName = "org.freedesktop.DBus.Error.InvalidArgs"
    /// A limit was reached.
    public static let limitsExceeded: ErrorName = "org.freedesktop.DBus.Error.LimitsExceeded"
    /// What was asked for is something that the program does not do.
    public static let notSupported: ErrorName = "org.freedesktop.DBus.Error.NotSupported"
    /// Nobody owns the name.
    public static let nameHasNoOwner: ErrorName = "org.freedesktop.DBus.Error.NameHasNoOwner"
    /// The other end went away before it answered; also what the bus says for a call that took too long.
    public static let noReply: ErrorName = "org.freedesktop.DBus.Error.NoReply"
    /// The property cannot be set.
    public static let propertyReadOnly: ErrorName = "org.freedesktop.DBus.Error.PropertyReadOnly"
    /// Nobody owns the name, and no service file provides it.
    public static let serviceUnknown: ErrorName = "org.freedesktop.DBus.Error.ServiceUnknown"
    /// The object lacks the interface.
    public static let unknownInterface: ErrorName = "org.freedesktop.DBus.Error.UnknownInterface"
    /// The object lacks the method.
    public static let unknownMethod: ErrorName = "org.freedesktop.DBus.Error.UnknownMethod"
    /// The connection has no such object.
    public static let unknownObject: ErrorName = "org.freedesktop.DBus.Error.UnknownObject"
    /// The interface lacks the property.
    public static let unknownProperty: ErrorName = "org.freedesktop.DBus.Error.UnknownProperty"
}

/// The name of a method, a signal or a property, such as `OpenURL`.
public struct MemberName: ValidatedName {
    /// The name as a string.
    public let rawValue: String

    /// Takes a string that follows the rule; nil for any other.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Takes a string that is known to follow the rule.
    init(trusted: String) {
        rawValue = trusted
    }

    /// One or more of `[A-Za-z0-9_]`, not starting with a digit, at most 255 bytes.
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        guard bytes.count <= NameRule.maximumLength, let first = bytes.first, !NameRule.isDigit(first) else {
            return false
        }
        return bytes.allSatisfy { NameRule.isLetterOrUnderscore($0) || NameRule.isDigit($0) }
    }
}
