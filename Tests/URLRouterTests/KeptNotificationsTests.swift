import DBus
import OpenURLBus
import Testing

@testable import URLRouter

/// Notifications that wait for a stopped handler.
@Suite struct KeptNotificationsTests {
    @Test func newerNotificationsStayWhenOthersAreReturned() throws {
        var kept = KeptNotifications()
        let limits = RouterLimits()
        try kept.keep("battery", "low", bytes: 10, for: "com.example.app", limits)
        try kept.keep("locale", "fr", bytes: 8, for: "com.example.app", limits)
        let taken = kept.take()
        #expect(kept.isEmpty)
        try kept.keep("battery", "full", bytes: 11, for: "com.example.app", limits)
        kept.putBack(taken)
        #expect(kept.take() == ["battery": "full", "locale": "fr"])
    }

    @Test func kindsAreLimited() throws {
        var kept = KeptNotifications()
        var limits = RouterLimits()
        limits.notificationKinds = 2
        for kind in ["battery", "locale", "battery"] {
            try kept.keep(kind, "x", bytes: 8, for: "com.example.app", limits)
        }
        let error = #expect(throws: OpenURLError.self) {
            try kept.keep("clock", "x", bytes: 6, for: "com.example.app", limits)
        }
        #expect(error?.code == .limitsExceeded)
        #expect(kept.take() == ["battery": "x", "locale": "x"])
    }

    @Test func returnedNotificationsCountAgain() throws {
        var kept = KeptNotifications()
        var limits = RouterLimits()
        limits.keptNotificationBytes = 20
        try kept.keep("battery", "low", bytes: 15, for: "com.example.app", limits)
        kept.putBack(kept.take())
        let error = #expect(throws: OpenURLError.self) {
            try kept.keep("locale", "fr", bytes: 8, for: "com.example.app", limits)
        }
        #expect(error?.code == .limitsExceeded)
    }
}
