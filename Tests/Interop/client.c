// A caller whose proxy gdbus-codegen has made: opens the URL of the argument, and prints the handler.

#include "router.h"

int main(int count, char **arguments) {
    GError *error = NULL;
    InteropRouter1 *router = interop_router1_proxy_new_for_bus_sync(
        G_BUS_TYPE_SESSION, G_DBUS_PROXY_FLAGS_NONE, "org.openurl.Router1", "/org/openurl/Router1", NULL, &error);
    GVariant *result = NULL;
    const char *handler = NULL;
    if (!router || count != 2 ||
        !interop_router1_call_open_url_sync(router, arguments[1], g_variant_new("a{sv}", NULL), &result, NULL, &error)) {
        g_printerr("%s\n", error ? error->message : "usage: client URL");
        return 1;
    }
    g_variant_lookup(result, "handler", "&s", &handler);
    g_print("%s\n", handler);
    return 0;
}
