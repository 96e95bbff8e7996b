import DBus
import OpenURLBus
import Testing

struct AppChooserPortalTests {
    @Test(
        arguments: [
            ("/org/freedesktop/portal/desktop/request/1_42/t", ":1.42"),
            ("/org/freedesktop/portal/desktop/request/1_7/t/4711", ":1.7"),
            ("/org/freedesktop/portal/desktop/request/1_7", nil), ("/org/freedesktop/portal/desktop/request", nil),
            ("/org/freedesktop/portal/desktop/requests/1_7/t", nil), ("/org/openurl/Router1/request/1_7/t", nil),
        ] as [(ObjectPath, BusName?)]
    )
    func handleNamesTheCaller(_ handle: ObjectPath, _ caller: BusName?) {
        #expect(AppChooserPortal.caller(of: handle) == caller)
    }
}
