#include <dbus/dbus.h>

/// Routes calls with a URL to the service of the URL's scheme, and routes the answers back, until the bus ends.
int route(DBusConnection *bus, const char *name, const char *service);

/// Handles every URL, until the bus ends.
int handle(DBusConnection *bus, const char *name);

/// Opens a URL as the `openurl` command does.
int open_url(DBusConnection *bus, const char *url);

/// Opens a URL again and again, over several connections to the bus. Prints "MEDIAN_NS CALLS_PER_SECOND".
/// With options, it calls `OpenURL`, and else `Open`.
int open_urls(const char *text, long bytes, long count, long window, int connections, int options);

/// Returns the call that opens a URL: `OpenURL` with options, or `Open`, which has none.
DBusMessage *call_for(const char *url, int has_options);

/// Answers calls with a filter under the given name, until the bus ends.
int serve(DBusConnection *bus, const char *name, DBusHandleMessageFunction answer);
