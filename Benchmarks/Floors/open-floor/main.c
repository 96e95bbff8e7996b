// Minimal versions of openurl's programs in C, directly on libdbus, for comparison.
//
//   open-floor connect               connects to the bus and ends
//   open-floor open URL              has the router open a URL, and ends
//   open-floor client URL BYTES CALLS WINDOW CALLERS [short]
//                                    prints "MEDIAN_NS CALLS_PER_SECOND" for opens of the URL, made longer with 'x';
//                                    with "short", it calls Open instead of OpenURL
//   open-floor router NAME SERVICE   forwards every call with a URL to SERVICE
//   open-floor handler NAME          handles every URL
#include "floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int serve(DBusConnection *bus, const char *name, DBusHandleMessageFunction answer) {
    dbus_connection_add_filter(bus, answer, NULL, NULL);
    if (dbus_bus_request_name(bus, name, DBUS_NAME_FLAG_DO_NOT_QUEUE, NULL) != DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER) return 1;
    puts("ready");
    fflush(stdout);
    while (dbus_connection_read_write_dispatch(bus, -1)) {}
    return 0;
}

int main(int count, char **arguments) {
    if (count < 2) return 64;
    if (count > 6 && !strcmp(arguments[1], "client")) {
        int has_options = count < 8 || strcmp(arguments[7], "short");
        return open_urls(arguments[2], atol(arguments[3]), atol(arguments[4]), atol(arguments[5]), atoi(arguments[6]), has_options);
    }
    DBusConnection *bus = dbus_bus_get(DBUS_BUS_SESSION, NULL);
    if (!bus) return 69;
    if (!strcmp(arguments[1], "connect")) return 0;
    if (count > 2 && !strcmp(arguments[1], "open")) return open_url(bus, arguments[2]);
    if (count > 2 && !strcmp(arguments[1], "handler")) return handle(bus, arguments[2]);
    if (count > 3 && !strcmp(arguments[1], "router")) return route(bus, arguments[2], arguments[3]);
    return 64;
}
