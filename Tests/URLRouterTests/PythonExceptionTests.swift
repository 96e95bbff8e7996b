import DBus
import Testing

@testable import URLRouter

/// Exceptions as dbus-python reports them.
@Suite struct PythonExceptionTests {
    private static let traceback = """
        Traceback (most recent call last):
          File "/usr/lib/hello", line 8, in Open
            name = query["name"][0]
        """

    @Test(arguments: [
        ("KeyError", "\(traceback)\nKeyError: 'name'\n", "KeyError: 'name'"),
        (
            "json.decoder.JSONDecodeError", "\(traceback)\njson.decoder.JSONDecodeError: no: x\n",
            "JSONDecodeError: no: x"
        ),
        ("E", "\(traceback)\nOpen.<locals>.E\n", "E"),
        ("ValueError", "\(traceback)\nValueError: one\n  two\nthree\n", "ValueError: one"),
        ("B", "\(traceback)\nA: a\n\nDuring it, another exception occurred:\n\n\(traceback)\nB: b\n", "B: b"),
        ("ValueError", "ValueError: late\n", "ValueError: late"),
    ])
    func summaryIsTheTypeAndTheText(type: String, message: String, summary: String) throws {
        let name = try #require(ErrorName("org.freedesktop.DBus.Python.\(type)"))
        let exception = try #require(PythonException(RemoteError(name, message)))
        #expect(exception.summary == summary)
        #expect(exception.traceback == (message.hasPrefix("Traceback") ? message : nil))
    }

    @Test(arguments: [
        ("com.example.Error.Full", "KeyError: 'name'"), ("org.freedesktop.DBus.Python.KeyError", ""),
        ("org.freedesktop.DBus.Python.dbus.exceptions.DBusException", "not today"),
    ])
    func otherErrorsAreNone(name: String, message: String) throws {
        #expect(PythonException(RemoteError(try #require(ErrorName(name)), message)) == nil)
    }
}
