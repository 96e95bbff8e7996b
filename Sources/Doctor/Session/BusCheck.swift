internal import DBus
internal import Translations
internal import UserFiles

/// Checks that there is a session bus.
struct BusCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        switch evidence.connection {
        case .success: findings.add(.session, .ok, "bus", translated("session bus"), "answers")
        case .failure(let error): reportAbsence(error, &findings)
        }
    }

    /// Reports that the bus cannot be reached, and how to get one.
    private func reportAbsence(_ error: ConnectionError, _ findings: inout Findings) {
        let reason = translated("cannot be reached: \(error)")
        if let address = BusAddress.missed(by: { environment[$0] }) {
            let fix = "export DBUS_SESSION_BUS_ADDRESS=\(quotedForShell(address))"
            findings.add(.session, .fail, "bus", translated("session bus"), reason, fix: fix)
        } else {
            // Another bus would have another router, which the desktop's programs do not see.
            let isDesktop = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
            let message =
                isDesktop
                ? translated("\(reason); use a new terminal of the desktop, or log in again")
                : translated(
                    "\(reason); in a desktop, use one of its terminals; elsewhere, start a shell with its own bus"
                )
            let fix = isDesktop ? nil : "dbus-run-session -- \"${SHELL:-sh}\""
            findings.add(.session, .fail, "bus", translated("session bus"), message, fix: fix)
        }
    }
}
