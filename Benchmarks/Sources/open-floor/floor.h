#include <dbus/dbus.h>

/// Routes calls with a URL to the service of the URL's scheme, and routes the answers back, until the bus ends.
int route(DBusConnection *bus, const char *name, const char *service);

/// Handles every URL, until the bus ends.
int handle(DBusConnection *bus, const char *name);

/// Opens a URL as the `openurl` command does.
int open_url(DBusConnection *bus, const char *url);

/// Answers calls with a filter under the given name, until the bus ends.
int serve(DBusConnection *bus, const char *name, DBusHandleMessageFunction answer);
