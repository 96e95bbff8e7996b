#include <dbus/dbus.h>

/// Routes calls that carry a URL to the service of its scheme, and its answers back, until the bus ends.
int route(DBusConnection *bus, const char *name, const char *service);

/// Is a handler that takes every URL, until the bus ends.
int handle(DBusConnection *bus, const char *name);

/// Opens a URL as the `openurl` command does.
int open_url(DBusConnection *bus, const char *url);

/// Answers calls with a filter under a name of its own, until the bus ends.
int serve(DBusConnection *bus, const char *name, DBusHandleMessageFunction answer);
