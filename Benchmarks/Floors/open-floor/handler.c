#include "floor.h"

static void append_empty(DBusMessageIter *values, const char *element) {
    DBusMessageIter array;
    dbus_message_iter_open_container(values, DBUS_TYPE_ARRAY, element, &array);
    dbus_message_iter_close_container(values, &array);
}

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *call, void *data) {
    (void)data;
    if (!dbus_message_is_method_call(call, "org.openurl.Handler1", "Open")) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    dbus_bool_t is_handled = TRUE;
    DBusMessage *reply = dbus_message_new_method_return(call);
    DBusMessageIter values;
    dbus_message_iter_init_append(reply, &values);
    dbus_message_iter_append_basic(&values, DBUS_TYPE_BOOLEAN, &is_handled);
    append_empty(&values, "{sv}");
    append_empty(&values, "(stb)");
    dbus_connection_send(bus, reply, NULL);
    dbus_message_unref(reply);
    return DBUS_HANDLER_RESULT_HANDLED;
}

int handle(DBusConnection *bus, const char *name) { return serve(bus, name, answer); }
