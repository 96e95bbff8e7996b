internal import DBus

/// An exception that a program in Python did not catch, as dbus-python reports it.
struct PythonException {
    /// The type and the text, such as `KeyError: 'name'`.
    let summary: String
    /// Where it was raised, as several lines that end with the exception; nil if this is unknown.
    let traceback: String?

    private static let prefix = "org.freedesktop.DBus.Python."

    /// Parses an error; nil if it is not a Python exception.
    ///
    /// dbus-python puts the type into the name, and the traceback into the message. The exception is on the last line
    /// of the message that begins with the type, preceded by the names of the type's modules. Any lines after that
    /// belong to the exception's text.
    init?(_ error: RemoteError) {
        guard error.name.rawValue.hasPrefix(Self.prefix), let type = error.name.rawValue.split(separator: ".").last
        else { return nil }
        let lines = error.message.split(separator: "\n")
        let exception = lines.last { line in
            line.first != " " && line.prefix { $0 != ":" }.split(separator: ".").last == type
        }
        guard let exception else { return nil }
        summary = String(type + exception.drop { $0 != ":" })
        traceback = lines.count > 1 ? error.message : nil
    }
}
