#include "floor.h"

DBusMessage *call_for(const char *url, int has_options) {
    DBusMessage *call = dbus_message_new_method_call(
        "org.openurl.Router1", "/org/openurl/Router1", "org.openurl.Router1", has_options ? "OpenURL" : "Open"
    );
    DBusMessageIter arguments, options;
    dbus_message_iter_init_append(call, &arguments);
    dbus_message_iter_append_basic(&arguments, DBUS_TYPE_STRING, &url);
    if (!has_options) return call;
    dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "{sv}", &options);
    dbus_message_iter_close_container(&arguments, &options);
    return call;
}

int open_url(DBusConnection *bus, const char *url) {
    DBusMessage *call = call_for(url, 1);
    return dbus_connection_send_with_reply_and_block(bus, call, DBUS_TIMEOUT_INFINITE, NULL) ? 0 : 1;
}
