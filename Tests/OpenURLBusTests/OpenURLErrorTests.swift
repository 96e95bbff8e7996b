import DBus
import OpenURLBus
import Testing

/// One cause, one name.
@Suite struct OpenURLErrorTests {
    private static let table: [(code: OpenURLError.Code, name: String)] = [
        (.declined, "org.openurl.Error.Declined"),
        (.launchVetoed, "org.openurl.Error.LaunchVetoed"),
        (.noHandler, "org.openurl.Error.NoHandler"),
        (.launchFailed, "org.openurl.Error.LaunchFailed"),
        (.handlerCrashed, "org.openurl.Error.HandlerCrashed"),
        (.timedOut, "org.openurl.Error.TimedOut"),
        (.notAllowed, "org.openurl.Error.NotAllowed"),
        (.limitsExceeded, "org.openurl.Error.LimitsExceeded"),
        (.loopDetected, "org.openurl.Error.LoopDetected"),
        (.notQueued, "org.openurl.Error.NotQueued"),
        (.cancelled, "org.openurl.Error.Cancelled"),
        (.invalidReply, "org.openurl.Error.InvalidReply"),
        (.alreadyClaimed, "org.openurl.Error.AlreadyClaimed"),
        (.malformedURL, "org.openurl.Error.MalformedURL"),
    ]

    @Test func everyCodeHasItsName() {
        #expect(Self.table.map(\.code) == OpenURLError.Code.allCases)
        for (code, name) in Self.table {
            #expect(code.errorName.rawValue == name)
        }
    }

    @Test(arguments: OpenURLError.Code.allCases)
    func anErrorGoesOverTheBusAndBack(code: OpenURLError.Code) throws {
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
    func anErrorOfOthersIsNone(name: ErrorName) {
        #expect(OpenURLError(RemoteError(name, "why")) == nil)
    }
}
