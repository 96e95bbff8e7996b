// The exchange of compare-dbus in C, directly on libdbus. The Swift module is compared with this program.
//
//   dbus-floor service NAME              answers every call that carries a string with a boolean
//   dbus-floor client NAME CALLS WINDOW  prints "MEDIAN_NS CALLS_PER_SECOND"
//   dbus-floor first NAME                makes one call and ends
//   dbus-floor peer-service ADDRESS      prints its address, and answers one connection after the other without a bus
//   dbus-floor peer-client ADDRESS CALLS WINDOW
#include <dbus/dbus.h>
#include <poll.h>
#include <string.h>

#include "../client.h"

static DBusConnection *bus;
static const char *name;
static long calls, sent, answered;
static uint64_t *begun, *taken;

static DBusMessage *call(void) {
    const char *text = "todolist:add?title=hello&body=world&number=12345";
    DBusMessage *message = dbus_message_new_method_call(name, "/bench", "org.openurl.Bench1", "Echo");
    if (!message || !dbus_message_append_args(message, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID)) fail("memory");
    return message;
}

static void check(DBusMessage *reply) {
    dbus_bool_t answer = FALSE;
    if (!reply || !dbus_message_get_args(reply, NULL, DBUS_TYPE_BOOLEAN, &answer, DBUS_TYPE_INVALID) || !answer) fail("no answer");
}

static void call_and_block(void) {
    DBusMessage *message = call();
    DBusMessage *reply = dbus_connection_send_with_reply_and_block(bus, message, 20000, NULL);
    check(reply);
    dbus_message_unref(reply);
    dbus_message_unref(message);
}

static void send_next(void);

static void receive(DBusPendingCall *pending, void *data) {
    long index = (long)(intptr_t)data;
    DBusMessage *reply = dbus_pending_call_steal_reply(pending);
    check(reply);
    taken[index] = now() - begun[index];
    dbus_message_unref(reply);
    dbus_pending_call_unref(pending);
    answered++;
    if (sent < calls) send_next();
}

static void send_next(void) {
    long index = sent++;
    DBusMessage *message = call();
    DBusPendingCall *pending = NULL;
    begun[index] = now();
    if (!dbus_connection_send_with_reply(bus, message, &pending, 60000) || !pending) fail("not sent");
    dbus_pending_call_set_notify(pending, receive, (void *)(intptr_t)index, NULL);
    dbus_message_unref(message);
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static DBusHandlerResult answer(DBusConnection *connection, DBusMessage *message, void *data) {
    (void)data;
    const char *text;
    if (dbus_message_get_type(message) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (!dbus_message_get_args(message, NULL, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID)) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    dbus_bool_t yes = text[0] != 0;
    DBusMessage *reply = dbus_message_new_method_return(message);
    dbus_message_append_args(reply, DBUS_TYPE_BOOLEAN, &yes, DBUS_TYPE_INVALID);
    dbus_connection_send(connection, reply, NULL);
    dbus_message_unref(reply);
    return DBUS_HANDLER_RESULT_HANDLED;
}

static DBusWatch *listening;

static dbus_bool_t add_watch(DBusWatch *watch, void *data) {
    (void)data;
    listening = watch;
    return TRUE;
}

static void ignore_watch(DBusWatch *watch, void *data) {
    (void)watch;
    (void)data;
}

static void accept_peer(DBusServer *server, DBusConnection *connection, void *data) {
    (void)server;
    (void)data;
    bus = dbus_connection_ref(connection);
}

static void serve_peers(const char *address) {
    DBusServer *server = dbus_server_listen(address, NULL);
    if (!server) fail("cannot listen");
    dbus_server_set_watch_functions(server, add_watch, ignore_watch, ignore_watch, NULL, NULL);
    dbus_server_set_new_connection_function(server, accept_peer, NULL, NULL);
    puts(dbus_server_get_address(server));
    fflush(stdout);
    for (;;) {
        struct pollfd ready = {.fd = dbus_watch_get_unix_fd(listening), .events = POLLIN};
        if (poll(&ready, 1, -1) < 1) continue;
        dbus_watch_handle(listening, DBUS_WATCH_READABLE);
        if (!bus) continue;
        dbus_connection_add_filter(bus, answer, NULL, NULL);
        while (dbus_connection_read_write_dispatch(bus, -1)) {}
        dbus_connection_unref(bus);
        bus = NULL;
    }
}

int main(int count, char **arguments) {
    if (count < 3) return 64;
    if (!strcmp(arguments[1], "peer-service")) serve_peers(arguments[2]);
    if (!strcmp(arguments[1], "peer-client")) {
        bus = dbus_connection_open_private(arguments[2], NULL);
    } else {
        name = arguments[2];
        bus = dbus_bus_get(DBUS_BUS_SESSION, NULL);
    }
    if (!bus) fail("no bus");
    if (!strcmp(arguments[1], "service")) {
        dbus_connection_add_filter(bus, answer, NULL, NULL);
        if (dbus_bus_request_name(bus, name, DBUS_NAME_FLAG_DO_NOT_QUEUE, NULL) != DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER) fail("name");
        puts("ready");
        fflush(stdout);
        while (dbus_connection_read_write_dispatch(bus, -1)) {}
        return 0;
    }
    if (!strcmp(arguments[1], "first")) {
        call_and_block();
        return 0;
    }
    if (count < 5) return 64;
    calls = atol(arguments[3]);
    long window = atol(arguments[4]);
    begun = calloc((size_t)calls, sizeof *begun);
    taken = calloc((size_t)calls, sizeof *taken);
    for (int index = 0; index < 200; index++) call_and_block();
    uint64_t start = now();
    if (window == 1) {
        for (long index = 0; index < calls; index++) {
            uint64_t one = now();
            call_and_block();
            taken[index] = now() - one;
        }
    } else {
        for (long index = 0; index < window; index++) send_next();
        while (answered < calls) if (!dbus_connection_read_write_dispatch(bus, -1)) fail("disconnected");
    }
    double seconds = (double)(now() - start) / 1e9;
    qsort(taken, (size_t)calls, sizeof *taken, ascending);
    printf("%llu %.0f\n", (unsigned long long)taken[calls / 2], (double)calls / seconds);
    return 0;
}
