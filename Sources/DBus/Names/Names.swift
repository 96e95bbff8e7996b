/// The name of a connection on a bus: well-known (`org.openurl.Router1`) or unique (`:1.42`).
public struct BusName: ValidatedName {
    /// The name as a string.
    public let rawValue: String

    /// Creates a name from a string; nil if the string is not a valid bus name.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Creates a name from a string that you know is valid.
    init(trusted: String) {
        rawValue = trusted
    }

    /// Whether the bytes are a valid bus name.
    ///
    /// A bus name has two or more elements made of `[A-Za-z0-9_-]`, separated by dots, and at most 255 bytes. Only the
    /// elements of a unique name may start with a digit.
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        guard bytes.count <= NameRule.maximumLength, let first = bytes.first else { return false }
        return first == UInt8(ascii: ":")
            ? NameRule.isDotted(bytes.dropFirst(), allowsHyphen: true, digitsMayLead: true)
            : NameRule.isDotted(bytes, allowsHyphen: true)
    }

    /// Whether the name is unique. A bus never gives the same unique name to another connection.
    public var isUnique: Bool { rawValue.utf8.first == UInt8(ascii: ":") }

    /// The message bus itself.
    public static let bus: BusName = "org.freedesktop.DBus"
}

/// An object's path within a connection, such as `/org/openurl/Router1`.
public struct ObjectPath: ValidatedName {
    /// The path as a string.
    public let rawValue: String

    /// Creates a path from a string; nil if the string is not a valid path.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Creates a path from a string that you know is valid.
    init(trusted: String) {
        rawValue = trusted
    }

    /// Whether the bytes are a valid path: `/`, or non-empty elements made of `[A-Za-z0-9_]`, each after a slash.
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

    /// Creates the path of the object that a program with this bus name exports.
    ///
    /// Dots become slashes and hyphens become underscores, as in "D-Bus Activation" in the desktop entry specification.
    public init(for name: BusName) {
        let name = name.rawValue.utf8
        self.init(
            trusted: String(unsafeUninitializedCapacity: 1 + name.count) { path in
                path[0] = UInt8(ascii: "/")
                var count = 1
                for byte in name {
                    path[count] =
                        switch byte {
                        case UInt8(ascii: "."): UInt8(ascii: "/")
                        case UInt8(ascii: "-"), UInt8(ascii: ":"): UInt8(ascii: "_")
                        default: byte
                        }
                    count += 1
                }
                return count
            }
        )
    }
}

/// The name of an interface, such as `org.openurl.Handler1`.
public struct InterfaceName: ValidatedName {
    /// The name as a string.
    public let rawValue: String

    /// Creates a name from a string; nil if the string is not a valid interface name.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Creates a name from a string that you know is valid.
    init(trusted: String) {
        rawValue = trusted
    }

    /// Whether the bytes are a valid interface name.
    ///
    /// An interface name has two or more elements made of `[A-Za-z0-9_]`, separated by dots, and at most 255 bytes. No
    /// element starts with a digit.
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        bytes.count <= NameRule.maximumLength && NameRule.isDotted(bytes, allowsHyphen: false)
    }
}

/// The name of an error, such as `org.freedesktop.DBus.Error.NoReply`.
public struct ErrorName: ValidatedName {
    /// The name as a string.
    public let rawValue: String

    /// Creates a name from a string; nil if the string is not a valid error name.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Creates a name from a string that you know is valid.
    init(trusted: String) {
        rawValue = trusted
    }

    /// Whether the bytes are a valid error name. The rule is the same as for an interface name.
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        InterfaceName.isValid(bytes)
    }

    /// The connection has ended.
    public static let disconnected: ErrorName = "org.freedesktop.DBus.Error.Disconnected"
    /// Something failed, and no other name applies.
    public static let failed: ErrorName = "org.freedesktop.DBus.Error.Failed"
    /// A file has contents that cannot be used.
    public static let invalidFileContent: ErrorName = "org.freedesktop.DBus.Error.InvalidFileContent"
    /// There is no such file.
    public static let fileNotFound: ErrorName = "org.freedesktop.DBus.Error.FileNotFound"
    /// The method does not accept the arguments.
    public static let invalidArguments: ErrorName = "org.freedesktop.DBus.Error.InvalidArgs"
    /// A limit was reached.
    public static let limitsExceeded: ErrorName = "org.freedesktop.DBus.Error.LimitsExceeded"
    /// The program does not support the request.
    public static let notSupported: ErrorName = "org.freedesktop.DBus.Error.NotSupported"
    /// The name has no owner.
    public static let nameHasNoOwner: ErrorName = "org.freedesktop.DBus.Error.NameHasNoOwner"
    /// The other end exited before it answered. The bus also uses this name for a call that took too long.
    public static let noReply: ErrorName = "org.freedesktop.DBus.Error.NoReply"
    /// The property cannot be set.
    public static let propertyReadOnly: ErrorName = "org.freedesktop.DBus.Error.PropertyReadOnly"
    /// The name has no owner, and no service file provides it.
    public static let serviceUnknown: ErrorName = "org.freedesktop.DBus.Error.ServiceUnknown"
    /// The object does not have the interface.
    public static let unknownInterface: ErrorName = "org.freedesktop.DBus.Error.UnknownInterface"
    /// The object does not have the method.
    public static let unknownMethod: ErrorName = "org.freedesktop.DBus.Error.UnknownMethod"
    /// The connection does not export the object.
    public static let unknownObject: ErrorName = "org.freedesktop.DBus.Error.UnknownObject"
    /// The interface does not have the property.
    public static let unknownProperty: ErrorName = "org.freedesktop.DBus.Error.UnknownProperty"
}

/// The name of a method, a signal or a property, such as `OpenURL`.
public struct MemberName: ValidatedName {
    /// The name as a string.
    public let rawValue: String

    /// Creates a name from a string; nil if the string is not a valid member name.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue.utf8) else { return nil }
        self.init(trusted: rawValue)
    }

    /// Creates a name from a string that you know is valid.
    init(trusted: String) {
        rawValue = trusted
    }

    /// Whether the bytes are a valid member name.
    ///
    /// A member name consists of 1 to 255 bytes from `[A-Za-z0-9_]`, and does not start with a digit.
    public static func isValid(_ bytes: String.UTF8View) -> Bool {
        guard bytes.count <= NameRule.maximumLength, let first = bytes.first, !NameRule.isDigit(first) else {
            return false
        }
        return bytes.allSatisfy { NameRule.isLetterOrUnderscore($0) || NameRule.isDigit($0) }
    }
}
