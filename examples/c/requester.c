/* Opens a URL with sd-bus, and prints the outcome. By default, it is the URL of the iOS app programming guide.
 *
 * usage: requester [URL] */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define ROUTER "org.openurl.Router1"
#define OBJECT "/org/openurl/Router1"

/* Prints which handler took the URL, and whether it was running. The result has more keys, such as `reply`. */
static int print_result(sd_bus_message *answer) {
    const char *handler = "", *way = "", *key;
    int result = sd_bus_message_enter_container(answer, 'a', "{sv}");
    while (result >= 0 && (result = sd_bus_message_enter_container(answer, 'e', "sv")) > 0) {
        result = sd_bus_message_read(answer, "s", &key);
        if (result >= 0) {
            const char **value = strcmp(key, "handler") == 0 ? &handler : strcmp(key, "way") == 0 ? &way : NULL;
            result = value ? sd_bus_message_read(answer, "v", "s", value) : sd_bus_message_skip(answer, "v");
        }
        if (result >= 0)
            result = sd_bus_message_exit_container(answer);
    }
    if (result >= 0)
        printf("%s took it (%s)\n", handler, way);
    return result;
}

int main(int count, char *arguments[]) {
    const char *url = count > 1 ? arguments[1] : "todolist://www.acme.com?Quarterly%20Report#200806231300";
    sd_bus *bus = NULL;
    sd_bus_message *answer = NULL;
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int result = sd_bus_open_user(&bus);
    /* The router answers within 20 seconds, and sd-bus waits for 25. */
    if (result >= 0)
        result = sd_bus_call_method(bus, ROUTER, OBJECT, ROUTER, "OpenURL", &error, &answer, "sa{sv}", url, 1, "timeout", "u", 20000);
    if (result >= 0)
        result = print_result(answer);
    /* The name of the error says what has happened, such as org.openurl.Error.Declined. */
    if (error.name)
        fprintf(stderr, "requester: %s: %s\n", error.name, error.message);
    else if (result < 0)
        fprintf(stderr, "requester: %s\n", strerror(-result));
    sd_bus_error_free(&error);
    sd_bus_message_unref(answer);
    sd_bus_unref(bus);
    return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
