#include "floor.h"

#include <poll.h>
#include <string.h>

#include "../client.h"

enum { MOST_CALLERS = 100 };

static struct caller {
    DBusConnection *bus;
    int number;
} callers[MOST_CALLERS];
static const char *url;
static int has_options;
static long calls, sent, answered;
static uint64_t *begun, *taken;

static void send_next(struct caller *caller);

struct place {
    struct caller *caller;
    long call;
};

static void take(DBusPendingCall *pending, void *data) {
    struct place *place = data;
    DBusMessage *reply = dbus_pending_call_steal_reply(pending);
    if (!reply || dbus_message_get_type(reply) != DBUS_MESSAGE_TYPE_METHOD_RETURN) fail("a URL was not opened");
    dbus_message_unref(reply);
    dbus_pending_call_unref(pending);
    taken[place->call] = now() - begun[place->call];
    answered++;
    if (sent < calls) send_next(place->caller);
}

static void send_next(struct caller *caller) {
    DBusPendingCall *pending = NULL;
    DBusMessage *call = call_for(url, has_options);
    struct place *place = malloc(sizeof *place);
    if (!place) fail("memory");
    place->caller = caller;
    place->call = sent;
    begun[sent++] = now();
    if (!dbus_connection_send_with_reply(caller->bus, call, &pending, DBUS_TIMEOUT_INFINITE) || !pending) fail("disconnected");
    dbus_message_unref(call);
    if (!dbus_pending_call_set_notify(pending, take, place, free)) fail("memory");
}

static int ascending(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

int open_urls(const char *text, long bytes, long count, long window, int connections, int options) {
    if (connections < 1 || connections > MOST_CALLERS || count < 1 || window < connections) return 64;
    char *padded = malloc(strlen(text) + (size_t)bytes + 1);
    if (!padded) return 1;
    strcpy(padded, text);
    size_t length = strlen(text);
    while (length < (size_t)bytes) padded[length++] = 'x';
    padded[length] = 0;
    url = padded;
    has_options = options;
    calls = count;
    begun = calloc((size_t)calls, sizeof *begun);
    taken = calloc((size_t)calls, sizeof *taken);
    struct pollfd sockets[MOST_CALLERS];
    for (int index = 0; index < connections; index++) {
        callers[index].bus = dbus_bus_get_private(DBUS_BUS_SESSION, NULL);
        if (!callers[index].bus || !dbus_connection_get_unix_fd(callers[index].bus, &sockets[index].fd)) fail("no bus");
        sockets[index].events = POLLIN;
    }
    uint64_t start = now();
    for (long index = 0; index < window && sent < calls; index++) send_next(&callers[index % connections]);
    while (answered < calls) {
        if (connections > 1 && poll(sockets, (nfds_t)connections, -1) < 0) fail("poll");
        for (int index = 0; index < connections; index++) {
            if (connections > 1 && !sockets[index].revents) continue;
            if (!dbus_connection_read_write(callers[index].bus, connections > 1 ? 0 : -1)) fail("disconnected");
            while (dbus_connection_dispatch(callers[index].bus) == DBUS_DISPATCH_DATA_REMAINS) {}
        }
    }
    double seconds = (double)(now() - start) / 1e9;
    qsort(taken, (size_t)calls, sizeof *taken, ascending);
    printf("%llu %.0f\n", (unsigned long long)taken[calls / 2], (double)calls / seconds);
    return 0;
}
