// openurl-remote: opens URLs where the person sits, from a container or from the far end of ssh.
//
// It takes the place of $BROWSER, xdg-open and openurl there, and passes each URL on through one socket, which `openurl ssh`
// or `openurl share` has made (Sources/Relay/Protocol). It needs neither a bus nor a library, and is linked statically, so that
// it runs in any container. It uses no buffered input or output, which would be half of the file.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// The exit statuses of openurl(1).
enum { FAILED = 1, TIMED_OUT = 6, USAGE = 64, MALFORMED = 65, NO_INPUT = 66, UNAVAILABLE = 69, LOST = 74 };

// A URL in a request, and an answer, are at most this long (RelayRequest.limit, RelayReply.limit).
enum { URL_LIMIT = 65536, LINE_LIMIT = URL_LIMIT + 64 };

// How long to wait for an answer in seconds: a little longer than the relay, which reports its own time limits.
enum { ANSWER_TIME = 120, CALLBACK_TIME = 330, CONNECT_TIME = 5, DELIVERY_TIME = 30 };

// How many command lines a chain of programs may pass on, because it could go on without end.
enum { MOST_PASSES = 16 };

static const char *program = "openurl-remote";

// Returns 0 if part of the text could not be written.
static int print(int descriptor, const char *text) {
    for (size_t rest = strlen(text); rest > 0;) {
        ssize_t count = write(descriptor, text, rest);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) {
            // Another program with the same open file can make it non-blocking, as ssh does.
            struct pollfd entry = {descriptor, POLLOUT, 0};
            poll(&entry, 1, -1);
            continue;
        }
        if (count <= 0) return 0;
        text += count;
        rest -= (size_t)count;
    }
    return 1;
}

// Prints a message in one line. A control character, which could mislead a terminal, becomes "?". In UTF-8, the
// controls from U+0080 on begin with C2.
static void complain(const char *first, const char *second) {
    const char *parts[] = {program, ": ", first, second};
    char line[1536];
    size_t length = 0;
    for (size_t i = 0; i < 4; i++) {
        for (const unsigned char *next = (const unsigned char *)parts[i]; *next && length < sizeof line - 2; next++) {
            int is_long = *next == 0xC2 && next[1] >= 0x80 && next[1] < 0xA0;
            line[length++] = is_long || *next < 0x20 || *next == 0x7F ? '?' : (char)*next;
            if (is_long) next++;
        }
    }
    strcpy(line + length, "\n");
    print(2, line);
}

// Prints a line of output. Returns the exit status: the given one, unless the command has succeeded and its output is
// lost.
static int print_line(const char *line, int status) {
    if (print(1, line) && print(1, "\n")) return status;
    // A reader that has closed its end has what it wanted.
    if (errno != EPIPE) complain("standard output: ", strerror(errno));
    return status == 0 ? LOST : status;
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

// Waits until a descriptor is ready. Returns 0 when the time is up.
static int wait_for(int descriptor, short events, long long end) {
    for (;;) {
        long long left = end - now();
        struct pollfd entry = {descriptor, events, 0};
        int count = left > 0 ? poll(&entry, 1, left > INT_MAX ? INT_MAX : (int)left) : 0;
        if (count >= 0 || errno != EINTR) return count > 0;
    }
}

static int send_all(int socket, const char *bytes, size_t count, long long end) {
    while (count > 0) {
        if (!wait_for(socket, POLLOUT, end)) return 0;
        ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (sent <= 0) return 0;
        bytes += sent;
        count -= (size_t)sent;
    }
    return 1;
}

// Reads one line without its end. Returns 0 if the other end hangs up, sends too much, or takes too long.
static int read_line(int socket, char *line, long long end) {
    for (size_t length = 0; length < LINE_LIMIT - 1;) {
        if (!wait_for(socket, POLLIN, end)) return 0;
        // Byte by byte, because the next line belongs to the next call. A line is short, and rare.
        ssize_t count = recv(socket, line + length, 1, MSG_DONTWAIT);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count <= 0) return 0;
        if (line[length] == '\n') {
            line[length] = 0;
            return 1;
        }
        length++;
    }
    return 0;
}

// MARK: The socket

static int is_socket(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}

static int join(char *path, const char *directory, const char *name) {
    size_t length = strlen(directory);
    if (length + 1 + strlen(name) >= PATH_MAX) return 0;
    strcpy(path, directory);
    path[length] = '/';
    strcpy(path + length + 1, name);
    return 1;
}

// Finds the name that the container's engine gave: distrobox has a variable, podman and toolbox have a file.
static int container_name(char *name, size_t size) {
    const char *variable = getenv("CONTAINER_ID");
    if (variable && *variable && strlen(variable) < size) {
        strcpy(name, variable);
        return 1;
    }
    char text[4096];
    int file = open("/run/.containerenv", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    if (count <= 0) return 0;
    text[count] = 0;
    char *start = strncmp(text, "name=\"", 6) == 0 ? text + 6 : strstr(text, "\nname=\"");
    if (!start) return 0;
    if (*start == '\n') start += 7;
    char *end = strchr(start, '"');
    if (!end || end == start || (size_t)(end - start) >= size) return 0;
    memcpy(name, start, (size_t)(end - start));
    name[end - start] = 0;
    return !strchr(name, '/');
}

// Finds the share's socket: where the variable says, beside this program, where a container's definition usually mounts it, or
// in the user's runtime directory, which toolbox and distrobox show in the container.
static int find_socket(char *path) {
    const char *variable = getenv("OPENURL_SOCKET");
    if (variable && *variable) return strlen(variable) < PATH_MAX && strcpy(path, variable);
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof "/socket");
    if (length > 0) {
        path[length] = 0;
        strcpy(strrchr(path, '/'), "/socket");
        if (is_socket(path)) return 1;
    }
    strcpy(path, "/run/openurl/socket");
    if (is_socket(path)) return 1;
    char name[256], parent[PATH_MAX], place[PATH_MAX];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (!runtime || !container_name(name, sizeof name)) return 0;
    return join(parent, runtime, "openurl/shares") && join(place, parent, name) && join(path, place, "socket")
        && is_socket(path);
}

static int connect_to_relay(void) {
    char path[PATH_MAX];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!find_socket(path)) {
        complain("there is no socket of openurl here; ", "see 'openurl share --help' on the host");
        return -1;
    }
    if (strlen(path) >= sizeof address.sun_path) {
        complain("the socket's path is too long: ", path);
        return -1;
    }
    strcpy(address.sun_path, path);
    int relay = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (relay < 0 || connect(relay, (struct sockaddr *)&address, sizeof address) != 0) {
        complain("the share has ended, or does not take this program: ", strerror(errno));
        return -1;
    }
    return relay;
}

// Sends a request, and reads the first line of the answer. Returns the connection; if it fails, the exit status, negated.
static int ask(const char *verb, const char *url, char *line, int seconds) {
    size_t length = strlen(url);
    for (size_t i = 0; i < length; i++) {
        if (url[i] < 0x21 || url[i] > 0x7E || length > URL_LIMIT) {
            complain("not a URL, or too long: ", length > 200 ? "" : url);
            return -MALFORMED;
        }
    }
    int relay = connect_to_relay();
    if (relay < 0) return -UNAVAILABLE;
    long long end = now() + seconds * 1000LL;
    strcpy(line, "openurl/1 ");
    strcat(line, verb);
    strcat(line, " ");
    strcat(line, url);
    strcat(line, "\n");
    if (!send_all(relay, line, strlen(line), end) || !read_line(relay, line, end)) {
        complain(now() >= end ? "there was no answer in time" : "the share has ended, or another container is using it", "");
        close(relay);
        return now() >= end ? -TIMED_OUT : -UNAVAILABLE;
    }
    if (strncmp(line, "failed ", 7) == 0) {
        char *message = line + 7;
        long status = strtol(message, &message, 10);
        complain(*message == ' ' ? message + 1 : message, "");
        close(relay);
        return status > 0 && status < 128 ? -(int)status : -FAILED;
    }
    return relay;
}

// MARK: A sign-in that ends at a port here

// Connects to a port of this machine. An address in a URL stands for itself: at another one, another user's program may listen.
static int connect_to_port(const char *host, int port, long long end) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((unsigned short)port)};
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v6.sin6_addr.s6_addr[15] = 1;
    struct sockaddr *addresses[] = {(struct sockaddr *)&v4, (struct sockaddr *)&v6};
    socklen_t sizes[] = {sizeof v4, sizeof v6};
    int first = *host == '[' ? 1 : 0, last = strncmp(host, "127.", 4) == 0 ? 0 : 1;
    for (int i = first; i <= last; i++) {
        int program = socket(addresses[i]->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (program < 0) continue;
        int error = 0;
        socklen_t size = sizeof error;
        if (connect(program, addresses[i], sizes[i]) == 0) return program;
        if (errno == EINPROGRESS && wait_for(program, POLLOUT, end)
            && getsockopt(program, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) return program;
        close(program);
    }
    return -1;
}

// Hands a callback to the program that waits for it at a port, with the request that a browser would make.
static void deliver(const char *url) {
    const char *start = strstr(url, "://");
    if (!start || strncmp(url, "http://", 7) != 0) return;
    const char *host = start + 3, *target = strchr(host, '/');
    const char *colon = target ? memrchr(host, ':', (size_t)(target - host)) : NULL;
    int port = colon ? atoi(colon + 1) : 0;
    if (port < 1 || port > 65535) return;
    long long end = now() + DELIVERY_TIME * 1000LL;
    int program = connect_to_port(host, port, now() + CONNECT_TIME * 1000LL);
    if (program < 0) return;
    const char *fragment = strchr(target, '#');
    size_t length = fragment ? (size_t)(fragment - target) : strlen(target);
    const char *rest = "\r\nAccept: text/html\r\nConnection: close\r\n\r\n";
    if (send_all(program, "GET ", 4, end) && send_all(program, target, length, end)
        && send_all(program, " HTTP/1.1\r\nHost: ", 17, end)
        && send_all(program, host, (size_t)(target - host), end) && send_all(program, rest, strlen(rest), end)) {
        // The program may take a closed connection for a lost callback, so take its whole answer.
        char answer[4096];
        while (wait_for(program, POLLIN, end) && recv(program, answer, sizeof answer, MSG_DONTWAIT) > 0) {}
    }
    close(program);
}

// Waits for the callback in a process of its own, because a program waits for its browser before it waits for the callback.
static void await_callback(int relay, char *line) {
    pid_t child = fork();
    if (child < 0) complain("the callback will be lost: ", strerror(errno));
    if (child != 0) return;
    setsid();
    // The working directory would keep its file system from being unmounted. If this fails, the callback still counts.
    if (chdir("/") != 0) {}
    if (fork() != 0) _exit(0);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3; i++) dup2(nothing, i);
    // Whoever waits for the end of another file must not wait for this process.
    if (relay != 3) dup2(relay, 3);
    relay = 3;
    close_range(4, ~0U, 0);
    signal(SIGPIPE, SIG_IGN);
    if (read_line(relay, line, now() + CALLBACK_TIME * 1000LL) && strncmp(line, "callback ", 9) == 0) deliver(line + 9);
    _exit(0);
}

// MARK: Commands

static int open_url(const char *url, char *line) {
    int relay = ask("open", url, line, ANSWER_TIME);
    if (relay < 0) return -relay;
    if (strcmp(line, "opened-waiting") == 0) await_callback(relay, line);
    close(relay);
    return 0;
}

static int hex_digit(char text) {
    const char *digits = "0123456789abcdef", *digit = text ? strchr(digits, text | 0x20) : NULL;
    return digit ? (int)(digit - digits) : -1;
}

// Decodes a name or a value of a form in place. A zero byte, which would end the text, stays as it is.
static char *decoded(char *text) {
    char *end = text;
    for (const char *next = text; *next; next++) {
        int high = *next == '%' ? hex_digit(next[1]) : -1, low = high < 0 ? -1 : hex_digit(next[2]);
        int is_escape = low >= 0 && high + low > 0;
        *end++ = is_escape ? (char)(high * 16 + low) : *next == '+' ? ' ' : *next;
        if (is_escape) next += 2;
    }
    *end = 0;
    return text;
}

// Returns whether a text is UTF-8.
static int is_utf8(const char *text) {
    for (const unsigned char *next = (const unsigned char *)text; *next; next++) {
        unsigned char first = *next, second = next[1];
        if (first < 0x80) continue;
        if (first < 0xC2 || first > 0xF4) return 0;
        // Longer forms than necessary, surrogates, and numbers above U+10FFFF
        if (first == 0xE0 && second < 0xA0) return 0;
        if (first == 0xED && second > 0x9F) return 0;
        if (first == 0xF0 && second < 0x90) return 0;
        if (first == 0xF4 && second > 0x8F) return 0;
        for (int rest = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3; rest > 0; rest--) {
            if ((*++next & 0xC0) != 0x80) return 0;
        }
    }
    return 1;
}

// Returns whether the server reports an error in a callback (RFC 6749 section 4.1.2.1), as in openurl callback: in the
// query or in the fragment, and neither with several values nor with one that is not UTF-8 (FormParameters). Changes
// the URL.
static int has_error(char *url) {
    char *fragment = strchr(url, '#'), none[] = "";
    const char *error = NULL;
    if (fragment) *fragment++ = 0;
    char *query = strchr(url, '?');
    char *parts[] = {query ? query + 1 : NULL, fragment};
    for (int i = 0; i < 2; i++) {
        for (char *value; (value = strsep(&parts[i], "&"));) {
            if (strcmp(decoded(strsep(&value, "=")), "error") != 0) continue;
            const char *other = decoded(value ? value : none);
            if (!is_utf8(other)) continue;
            if (error && strcmp(error, other) != 0) return 0;
            error = other;
        }
    }
    return error != NULL;
}

static int wait_for_callback(const char *url, char *line) {
    int relay = ask("callback", url, line, CALLBACK_TIME);
    if (relay < 0) return -relay;
    close(relay);
    if (strncmp(line, "callback ", 9) != 0) return FAILED;
    int status = print_line(line + 9, 0);
    return has_error(line + 9) ? FAILED : status;
}

static int can_open(const char *url, char *line) {
    int relay = ask("can-open", url, line, ANSWER_TIME);
    if (relay < 0) return -relay;
    close(relay);
    return print_line(line, strcmp(line, "yes") == 0 ? 0 : 3);
}

static int has_scheme(const char *text) {
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return length > 0 && text[length] == ':' && strchr("+-.0123456789", text[0]) == NULL;
}

// Continues a hash (64-bit FNV-1a) with a word.
static unsigned long long hashed(unsigned long long hash, const char *word) {
    do hash = (hash ^ (unsigned char)*word) * 0x100000001B3;
    while (*word++);
    return hash;
}

// Writes a number of two digits, a space, and a hash of the working directory and of a command line in hexadecimal
// digits.
static void write_mark(char *mark, int number, const char *name, char **arguments) {
    char directory[PATH_MAX];
    ssize_t length = readlink("/proc/self/cwd", directory, sizeof directory - 1);
    directory[length > 0 ? length : 0] = 0;
    unsigned long long hash = hashed(0xCBF29CE484222325, directory);
    for (const char *word = name; word; word = *arguments ? *++arguments : NULL) hash = hashed(hash, word);
    mark[0] = (char)('0' + number / 10);
    mark[1] = (char)('0' + number % 10);
    mark[2] = ' ';
    for (int i = 0; i < 16; i++) mark[3 + i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
    mark[19] = 0;
}

// Runs the next program on PATH with a name, because this one cannot do what is wanted. Returns only if there is none.
static void run_next(const char *name, char **arguments) {
    struct stat own, other;
    const char *path = getenv("PATH"), *variable = "OPENURL_REMOTE_PASSED_ON", *last = getenv(variable);
    // A program that comes back here with the same command line would otherwise get it again, without end. Programs
    // that inherit the variable can still pass on other command lines, and find no secrets in the hash. Two programs
    // that change the command line in turn end with the number.
    unsigned long passes = last ? strtoul(last, NULL, 10) : 0;
    if (!path || passes >= MOST_PASSES || stat("/proc/self/exe", &own) != 0) return;
    const char *last_hash = last ? strchr(last, ' ') : NULL;
    char mark[20];
    write_mark(mark, (int)passes + 1, name, arguments);
    if (last_hash && strcmp(last_hash, mark + 2) == 0) return;
    setenv(variable, mark, 1);
    while (*path) {
        size_t length = strcspn(path, ":");
        char directory[PATH_MAX], file[PATH_MAX];
        if (length > 0 && length < PATH_MAX) {
            memcpy(directory, path, length);
            directory[length] = 0;
            if (join(file, directory, name) && stat(file, &other) == 0
                && (own.st_dev != other.st_dev || own.st_ino != other.st_ino)) execv(file, arguments);
        }
        path += length + (path[length] == ':');
    }
}

// Puts the directory of the share first on PATH. The session's files are there: this program under several names.
static void extend_path(void) {
    char place[PATH_MAX];
    const char *path = getenv("PATH");
    char *end = find_socket(place) ? strrchr(place, '/') : NULL;
    if (!end) {
        complain("there is no socket of openurl here; ", "start the session again with 'openurl ssh'");
        exit(UNAVAILABLE);
    }
    *end = 0;
    size_t size = strlen(place) + 1 + (path ? strlen(path) : 0) + 1;
    char *extended = malloc(size);
    if (!extended) exit(UNAVAILABLE);
    strcpy(extended, place);
    if (path && *path) strcat(strcat(extended, ":"), path);
    setenv("PATH", extended, 1);
}

// Runs the user's shell at the far end of ssh: a login shell first, because its files usually set PATH.
static int run_session(int count, char **arguments) {
    const char *shell = getenv("SHELL");
    if (!shell || *shell != '/') shell = "/bin/sh";
    const char *name = strrchr(shell, '/') + 1;
    if (count > 1 && strcmp(arguments[0], "-c") == 0) {
        extend_path();
        execl(shell, name, "-c", arguments[1], (char *)NULL);
    } else if (count > 0 && strcmp(arguments[0], "--shell") == 0) {
        extend_path();
        execl(shell, name, (char *)NULL);
    } else {
        char command[PATH_MAX + 32] = "exec '";
        ssize_t length = readlink("/proc/self/exe", command + 6, PATH_MAX - 1);
        if (length <= 0 || memchr(command + 6, '\'', (size_t)length)) return UNAVAILABLE;
        strcpy(command + 6 + length, "' --session --shell");
        // A login shell of csh takes no other option.
        size_t size = strlen(name);
        if (size < 3 || strcmp(name + size - 3, "csh") != 0) execl(shell, name, "-l", "-c", command, (char *)NULL);
        extend_path();
        execl(shell, name, (char *)NULL);
    }
    complain("cannot run ", shell);
    return UNAVAILABLE;
}

int main(int count, char **arguments) {
    static char line[LINE_LIMIT];
    // If a standard stream is closed, no other file must get its number. As on a closed stream, reading and writing
    // still fail.
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int i = 0; i < 3; i++) {
        if (fcntl(i, F_GETFD) < 0) open("/dev/null", modes[i] | O_CLOEXEC);
    }
    const char *name = count > 0 ? arguments[0] : program;
    name = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    program = name;
    int first = 1;
    int is_openurl = strncmp(name, "openurl", 7) == 0;
    int (*command)(const char *, char *) = open_url;
    if (is_openurl && count > 1) {
        if (strcmp(arguments[1], "--session") == 0) return run_session(count - 2, arguments + 2);
        if (strcmp(arguments[1], "callback") == 0) command = wait_for_callback;
        if (strcmp(arguments[1], "can-open") == 0) command = can_open;
        if (command != open_url || strcmp(arguments[1], "open") == 0) first = 2;
    }
    int is_known = first < count;
    for (int i = first; i < count; i++) is_known = is_known && has_scheme(arguments[i]);
    if (!is_known || (command == wait_for_callback && count != first + 1)) {
        run_next(is_openurl ? "openurl" : name, arguments);
        if (first < count && *arguments[first] != '-' && !has_scheme(arguments[first])) {
            complain("only URLs can be opened from here, not ", arguments[first]);
            return NO_INPUT;
        }
        print(2, "usage: openurl [open] URL..., openurl callback URL, or openurl can-open URL...\n");
        return USAGE;
    }
    int status = 0;
    for (int i = first; i < count; i++) {
        int result = command(arguments[i], line);
        if (status == 0) status = result;
    }
    return status;
}
