import DBus
import OpenURLBus
import Testing

/// Each cause has one error name and one exit status.
@Suite struct OpenURLErrorTests {
    private static let table: [(code: OpenURLError.Code, name: String, exitStatus: Int32)] = [
        (.declined, "org.openurl.Error.Declined", 1),
        (.launchVetoed, "org.openurl.Error.LaunchVetoed", 2),
        (.noHandler, "org.openurl.Error.NoHandler", 3),
        (.launchFailed, "org.openurl.Error.LaunchFailed", 4),
        (.handlerCrashed, "org.openurl.Error.HandlerCrashed", 5),
        (.timedOut, "org.openurl.Error.TimedOut", 6),
        (.notAllowed, "org.openurl.Error.NotAllowed", 7),
        (.limitsExceeded, "org.openurl.Error.LimitsExceeded", 8),
        (.loopDetected, "org.openurl.Error.LoopDetected", 9),
        (.notQueued, "org.openurl.Error.NotQueued", 10),
        (.malformedURL, "org.openurl.Error.MalformedURL", 65),
    ]

    @Test func everyCodeHasANameAndAnExitStatus() {
        #expect(Self.table.map(\.code) == OpenURLError.Code.allCases)
        for (code, name, exitStatus) in Self.table {
            #expect(code.errorName.rawValue == name)
            #expect(code.exitStatus == exitStatus)
        }
        #expect(ExitStatus.usage == 64)
        #expect(ExitStatus.unavailable == 69)
        #expect(Set(Self.table.map(\.exitStatus) + [0, ExitStatus.usage, ExitStatus.unavailable]).count == 14)
    }

    @Test(arguments: OpenURLError.Code.allCases)
    func roundTripKeepsTheError(code: OpenURLError.Code) throws {
        let error = OpenURLError(code, "why")
        #expect(error.dbusError == RemoteError(code.errorName, "why"))
        #expect(OpenURLError(error.dbusError) == error)
        #expect(error.description == "why")
    }

    @Test(
        arguments: [
            "org.freedesktop.DBus.Error.NoReply", "org.openurl.Error.Unheard", "org.openurl.Error.declined",
            "com.example.Error.Declined",
        ] as [ErrorName]
    )
    func foreignErrorIsNotConverted(name: ErrorName) {
        #expect(OpenURLError(RemoteError(name, "why")) == nil)
    }
}
