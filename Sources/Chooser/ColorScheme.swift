internal import CGTK

/// Returns whether the person prefers dark windows. GTK 4 follows the theme, but not this setting of the desktop's portal
/// (`org.freedesktop.portal.Settings`, `org.freedesktop.appearance`).
///
/// A portal that is not running, or that is slow, has no say: the window must not wait for it.
func prefersDarkWindows() -> Bool {
    guard let bus = g_bus_get_sync(G_BUS_TYPE_SESSION, nil, nil) else { return false }
    defer { g_object_unref(UnsafeMutableRawPointer(bus)) }
    var arguments = [g_variant_new_string("org.freedesktop.appearance"), g_variant_new_string("color-scheme")]
    let limitInMilliseconds: CInt = 50
    guard
        let reply = g_dbus_connection_call_sync(
            bus,
            "org.freedesktop.portal.Desktop",
            "/org/freedesktop/portal/desktop",
            "org.freedesktop.portal.Settings",
            "Read",
            g_variant_new_tuple(&arguments, gsize(arguments.count)),
            nil,
            G_DBUS_CALL_FLAGS_NO_AUTO_START,
            limitInMilliseconds,
            nil,
            nil
        )
    else { return false }
    defer { g_variant_unref(reply) }
    let dark: UInt32 = 1
    return reply_holds(reply, dark) != 0
}
