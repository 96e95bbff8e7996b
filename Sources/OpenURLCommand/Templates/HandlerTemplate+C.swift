extension HandlerTemplate {
    /// A program, its test, and a Makefile.
    var cFiles: [File] {
        let path = "/" + id.replacing(".", with: "/").replacing("-", with: "_")
        return [
            File(
                path: "Makefile",
                text: """
                    # sd-bus is in libsystemd-dev (Debian), systemd-devel (Fedora) or systemd-libs (Arch).
                    CFLAGS += -std=c17 -Wall -Wextra $(shell pkg-config --cflags libsystemd)
                    LDLIBS += $(shell pkg-config --libs libsystemd)

                    build/\(name): handler.c greeting.h
                    \tmkdir -p build
                    \t$(LINK.c) $< $(LDLIBS) -o $@
                    test: test_handler
                    \t./test_handler
                    test_handler: test_handler.c greeting.h
                    clean:
                    \trm -rf build test_handler
                    .PHONY: test clean

                    """
            ),
            File(
                path: "greeting.h",
                text: """
                    #include <stdio.h>
                    #include <string.h>

                    // Writes the greeting for a URL; returns 0 for a URL without a name. A name with escapes stays as it is.
                    static inline int greet(const char *url, char *text, size_t size) {
                        const char *name = strstr(url, "name=");
                        size_t length = name ? strcspn(name += strlen("name="), "&#") : 0;
                        if (length == 0) return 0;
                        snprintf(text, size, "Hello, %.*s!", (int)length, name);
                        return 1;
                    }

                    """
            ),
            File(
                path: "test_handler.c",
                text: """
                    #include "greeting.h"

                    int main(void) {
                        char text[64] = "";
                        if (!greet("\(scheme):?name=World", text, sizeof text) || strcmp(text, "Hello, World!") != 0) return 1;
                        return greet("\(scheme):", text, sizeof text);
                    }

                    """
            ),
            File(
                path: "handler.c",
                text: """
                    // Answers \(scheme):?name=World with a greeting.
                    #include <stdio.h>
                    #include <systemd/sd-bus.h>

                    #include "greeting.h"

                    // The manifest names the same identifier. The path follows from it: '.' becomes '/', and '-' becomes '_'.
                    #define ID "\(id)"
                    #define PATH "\(path)"

                    // Before you use the context, or OUReach in the manifest, check the caller: 'Who is calling' in
                    // Documentation/Languages.md of openurl.
                    static int open_url(sd_bus_message *call, void *data, sd_bus_error *error) {
                        (void)data;
                        const char *url;
                        int result = sd_bus_message_read(call, "s", &url);
                        if (result < 0) return result;
                        char text[256];
                        if (!greet(url, text, sizeof text))
                            return sd_bus_error_set(error, "org.openurl.Error.Declined",
                                                    "there is no name; write \(scheme):?name=World");
                        // The answer, the reply, and no steps for the trace.
                        return sd_bus_reply_method_return(call, "ba{sv}a(stb)", 1, 1, "greeting", "s", text, 0);
                    }

                    static const sd_bus_vtable handler[] = {
                        SD_BUS_VTABLE_START(0),
                        SD_BUS_METHOD("Open", "sa{sv}", "ba{sv}a(stb)", open_url, SD_BUS_VTABLE_UNPRIVILEGED),
                        SD_BUS_VTABLE_END,
                    };

                    int main(void) {
                        // Standard output is not a terminal, so lines would stay in the buffer until the process exits.
                        setvbuf(stdout, NULL, _IOLBF, 0);
                        sd_bus *bus;
                        int result = sd_bus_open_user(&bus);
                        if (result >= 0) result = sd_bus_add_object_vtable(bus, NULL, PATH, "org.openurl.Handler1", handler, NULL);
                        if (result >= 0) result = sd_bus_request_name(bus, ID, 0);
                        while (result >= 0) {
                            result = sd_bus_process(bus, NULL);
                            if (result == 0) result = sd_bus_wait(bus, UINT64_MAX);
                        }
                        fprintf(stderr, "%s: %s\\n", ID, strerror(-result));
                        return 1;
                    }

                    """
            ),
        ]
    }
}
