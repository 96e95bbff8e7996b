/* A handler in C, with sd-bus: it answers hello-c:?name=World with a greeting.
 *
 * It has one object, whose path follows from the bundle identifier, with one method, Open. The router starts the program
 * for the first URL. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define IDENTIFIER "com.example.hello-c"
#define OBJECT "/com/example/hello_c"
#define DECLINED "org.openurl.Error.Declined"

static uint32_t count;

/* Gets the URL and facts about the sender; answers whether the URL is handled, with a reply and no steps of its own. */
static int open_url(sd_bus_message *call, void *unused, sd_bus_error *error) {
    (void)unused;
    const char *url;
    int result = sd_bus_message_read(call, "s", &url);
    if (result < 0)
        return result;

    /* An error declines the URL, and the sender gets its message. */
    const char *name = strstr(url, "?name=");
    if (!name || !name[strlen("?name=")])
        return sd_bus_error_set(error, DECLINED, "there is no name; write hello-c:?name=World");
    name += strlen("?name=");

    char greeting[256];
    snprintf(greeting, sizeof greeting, "Hello, %s!", name);
    return sd_bus_reply_method_return(call, "ba{sv}a(stb)", 1, 2, "greeting", "s", greeting, "count", "u", ++count, 0);
}

static const sd_bus_vtable handler[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Open", "sa{sv}", "ba{sv}a(stb)", open_url, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static void check(int result, const char *step) {
    if (result >= 0)
        return;
    fprintf(stderr, "%s: %s\n", step, strerror(-result));
    exit(EXIT_FAILURE);
}

int main(void) {
    sd_bus *bus;
    check(sd_bus_open_user(&bus), "the session bus");
    /* The object comes before the name, because the first URL arrives as soon as the name has an owner. */
    check(sd_bus_add_object_vtable(bus, NULL, OBJECT, "org.openurl.Handler1", handler, NULL), "the object " OBJECT);
    check(sd_bus_request_name(bus, IDENTIFIER, 0), "the name " IDENTIFIER);
    for (;;) {
        int result = sd_bus_process(bus, NULL);
        check(result, "a message");
        if (result == 0)
            check(sd_bus_wait(bus, UINT64_MAX), "the next message");
    }
}
