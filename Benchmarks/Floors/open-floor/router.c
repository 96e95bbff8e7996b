// A minimal router: it finds the scheme among a thousand, forwards the call and forwards the answer.
#include "floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMES = 1000 };
typedef struct {
    char name[32];
    const char *service;
} Scheme;

static Scheme schemes[SCHEMES];

static int compare(const void *a, const void *b) { return strcmp(((const Scheme *)a)->name, ((const Scheme *)b)->name); }

static void fill(const char *service) {
    for (int index = 0; index < SCHEMES; index++) {
        snprintf(schemes[index].name, sizeof schemes[index].name, "scheme%d", index);
        schemes[index].service = service;
    }
    strcpy(schemes[0].name, "todolist");
    qsort(schemes, SCHEMES, sizeof *schemes, compare);
}

static const char *find_service(const char *url) {
    Scheme wanted;
    size_t length = strcspn(url, ":");
    if (!url[length] || length >= sizeof wanted.name) return NULL;
    memcpy(wanted.name, url, length);
    wanted.name[length] = 0;
    const Scheme *found = bsearch(&wanted, schemes, SCHEMES, sizeof *schemes, compare);
    return found ? found->service : NULL;
}

static DBusConnection *connection;

static void hand_back(DBusPendingCall *pending, void *data) {
    DBusMessage *call = data, *answer = dbus_pending_call_steal_reply(pending), *reply;
    dbus_bool_t is_handled = FALSE;
    if (dbus_message_get_args(answer, NULL, DBUS_TYPE_BOOLEAN, &is_handled, DBUS_TYPE_INVALID)) {
        reply = dbus_message_new_method_return(call);
        dbus_message_append_args(reply, DBUS_TYPE_BOOLEAN, &is_handled, DBUS_TYPE_INVALID);
    } else {
        reply = dbus_message_new_error(call, DBUS_ERROR_FAILED, "the service failed");
    }
    dbus_connection_send(connection, reply, NULL);
    dbus_message_unref(reply);
    dbus_message_unref(answer);
    dbus_message_unref(call);
    dbus_pending_call_unref(pending);
}

static DBusHandlerResult hand_on(DBusConnection *bus, DBusMessage *call, void *data) {
    (void)data;
    const char *url, *service;
    if (dbus_message_get_type(call) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (!dbus_message_get_args(call, NULL, DBUS_TYPE_STRING, &url, DBUS_TYPE_INVALID)) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (!(service = find_service(url))) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    DBusMessage *next =
        dbus_message_new_method_call(service, dbus_message_get_path(call), dbus_message_get_interface(call), dbus_message_get_member(call));
    DBusPendingCall *pending = NULL;
    dbus_message_append_args(next, DBUS_TYPE_STRING, &url, DBUS_TYPE_INVALID);
    if (dbus_connection_send_with_reply(bus, next, &pending, 60000) && pending)
        dbus_pending_call_set_notify(pending, hand_back, dbus_message_ref(call), NULL);
    dbus_message_unref(next);
    return DBUS_HANDLER_RESULT_HANDLED;
}

int route(DBusConnection *bus, const char *name, const char *service) {
    connection = bus;
    fill(service);
    return serve(bus, name, hand_on);
}
