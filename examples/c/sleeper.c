/* A handler in C, with sd-bus and sd-event, that the router may stop while it is in the background.
 *
 * "The suspension of a handler" in Documentation/Reference.md says what Suspend has to do, and "Who is calling" in
 * Documentation/Languages.md why callers are checked. */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#define IDENTIFIER "com.example.sleeper-c"
#define OBJECT "/com/example/sleeper_c"
#define ROUTER "org.openurl.Router1"
#define BUS "org.freedesktop.DBus"

static sd_bus *bus;
static sd_event *loop;
/* This end of the router's pipe, while the process may be stopped. */
static sd_event_source *lifeline;
/* The unique names of the router that started this process and of the latest owners of the router's name. A router that
 * has given up its name may still be delivering. */
static char routers[8][256];
static unsigned trusted;
static uint32_t count;

static void check(int result, const char *step) {
    if (result >= 0)
        return;
    fprintf(stderr, "%s: %s\n", step, strerror(-result));
    exit(EXIT_FAILURE);
}

/* Trusts a router. Its name takes the place of the oldest one. */
static void trust(const char *name) {
    snprintf(routers[trusted++ % 8], sizeof routers[0], "%s", name);
}

static int check_caller(sd_bus_message *call, sd_bus_error *error) {
    for (int index = 0; index < 8; index++)
        if (strcmp(sd_bus_message_get_sender(call), routers[index]) == 0)
            return 0;
    return sd_bus_error_set(error, "org.openurl.Error.NotAllowed", "only the router may call the sleeper");
}

static int open_url(sd_bus_message *call, void *unused, sd_bus_error *error) {
    (void)unused;
    int result = check_caller(call, error);
    if (result < 0)
        return result;
    return sd_bus_reply_method_return(call, "ba{sv}a(stb)", 1, 1, "count", "u", ++count, 0);
}

/* Save here what would be lost if the process were killed. */
static int enter_background(sd_bus_message *call, void *unused, sd_bus_error *error) {
    (void)unused;
    int result = check_caller(call, error);
    if (result < 0)
        return result;
    return sd_bus_reply_method_return(call, "");
}

/* Called when the other end is closed: by the router when the process may continue, or by the kernel when the router dies. */
static int proceed(sd_event_source *source, int descriptor, uint32_t events, void *unused) {
    (void)source;
    (void)descriptor;
    (void)events;
    (void)unused;
    lifeline = sd_event_source_disable_unref(lifeline);
    check(sd_bus_request_name(bus, IDENTIFIER, 0), "the name " IDENTIFIER);
    return 0;
}

/* If there is still work to do, answer false here and keep the name. */
static int suspend(sd_bus_message *call, void *unused, sd_bus_error *error) {
    (void)unused;
    int descriptor;
    int result = check_caller(call, error);
    if (result >= 0)
        result = sd_bus_message_read(call, "h", &descriptor);
    if (result < 0)
        return result;
    /* Duplicate the descriptor, because the message closes its own. */
    descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    if (descriptor < 0)
        return -errno;
    check(sd_event_add_io(loop, &lifeline, descriptor, EPOLLHUP, proceed, NULL), "the lifeline");
    check(sd_event_source_set_io_fd_own(lifeline, 1), "the lifeline");
    check(sd_bus_release_name(bus, IDENTIFIER), "the name " IDENTIFIER);
    return sd_bus_reply_method_return(call, "b", 1);
}

static const sd_bus_vtable handler[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Open", "sa{sv}", "ba{sv}a(stb)", open_url, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("EnterBackground", "", "", enter_background, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Suspend", "h", "b", suspend, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static int router_changed(sd_bus_message *signal, void *unused, sd_bus_error *error) {
    (void)unused;
    (void)error;
    const char *name, *old, *new;
    if (sd_bus_message_read(signal, "sss", &name, &old, &new) > 0 && *new)
        trust(new);
    return 0;
}

/* Trusts the router that started this process, and every owner of the router's name. */
static void watch_router(void) {
    const char *launcher = getenv("OPENURL_LAUNCH");
    if (launcher)
        trust(launcher);
    check(sd_bus_add_match(bus, NULL, "type='signal',sender='" BUS "',member='NameOwnerChanged',arg0='" ROUTER "'",
                           router_changed, NULL), "the router's name");
    sd_bus_message *answer = NULL;
    const char *owner;
    /* Without a router, there is an error instead of an answer. */
    if (sd_bus_call_method(bus, BUS, "/org/freedesktop/DBus", BUS, "GetNameOwner", NULL, &answer, "s", ROUTER) >= 0
        && sd_bus_message_read(answer, "s", &owner) > 0)
        trust(owner);
    sd_bus_message_unref(answer);
}

int main(void) {
    check(sd_event_default(&loop), "the event loop");
    check(sd_bus_open_user(&bus), "the session bus");
    check(sd_bus_attach_event(bus, loop, 0), "the event loop");
    check(sd_bus_set_exit_on_disconnect(bus, 1), "the session bus");
    check(sd_bus_add_object_vtable(bus, NULL, OBJECT, "org.openurl.Handler1", handler, NULL), "the object " OBJECT);
    watch_router();
    check(sd_bus_request_name(bus, IDENTIFIER, 0), "the name " IDENTIFIER);
    return sd_event_loop(loop) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
