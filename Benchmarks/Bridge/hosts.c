/* Simulated hosts for Benchmarks/bridge.py: each is a client of the broker that answers requests as a router and its bridge would.

   hosts PORT COUNT REPLY

   Each request gets the outcome in the file REPLY. A request that arrives again gets it again, but counts once. The program prints a
   line when all hosts are connected. At SIGTERM it prints how many requests it has had, and how many messages. */

#include <errno.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct host {
    struct mosquitto *client;
    char name[32];
    int socket;
    bool is_there;
    time_t next;
};

static unsigned char reply[65536];
static size_t reply_size;
static uint64_t *seen;
static const size_t seen_size = 1 << 22;
static long requests, messages;
static int there, poll_set, port;
static volatile sig_atomic_t is_ending;

static void end(int signal) { (void)signal; is_ending = 1; }

/* Returns whether a request is new. */
static bool is_new(const struct host *host, const unsigned char *id, size_t size) {
    uint64_t hash = 0xCBF29CE484222325;
    for (const char *byte = host->name; *byte; byte++) hash = (hash ^ (unsigned char)*byte) * 0x100000001B3;
    for (size_t index = 0; index < size; index++) hash = (hash ^ id[index]) * 0x100000001B3;
    if (hash == 0) hash = 1;
    for (size_t slot = hash % seen_size;; slot = (slot + 1) % seen_size) {
        if (seen[slot] == hash) return false;
        if (seen[slot] == 0) return seen[slot] = hash, true;
    }
}

static void connected(struct mosquitto *client, void *object, int code, int flags, const mosquitto_property *properties) {
    (void)flags, (void)properties;
    struct host *host = object;
    char topic[96];
    if (code != 0) return;
    snprintf(topic, sizeof topic, "openurl/1/%s/open/from/+", host->name);
    mosquitto_subscribe(client, NULL, topic, 1);
    snprintf(topic, sizeof topic, "openurl/1/%s/presence", host->name);
    mosquitto_publish(client, NULL, topic, 6, "online", 1, true);
}

static void subscribed(struct mosquitto *client, void *object, int number, int count, const int *granted) {
    (void)client, (void)number, (void)count, (void)granted;
    struct host *host = object;
    if (!host->is_there) there++;
    host->is_there = true;
}

static void arrived(struct mosquitto *client, void *object, const struct mosquitto_message *message, const mosquitto_property *properties) {
    struct host *host = object;
    void *id = NULL;
    uint16_t size = 0;
    const char *sender = strrchr(message->topic, '/');
    if (!sender || !mosquitto_property_read_binary(properties, MQTT_PROP_CORRELATION_DATA, &id, &size, false)) return;
    messages++;
    if (is_new(host, id, size)) requests++;
    mosquitto_property *answer = NULL;
    mosquitto_property_add_binary(&answer, MQTT_PROP_CORRELATION_DATA, id, size);
    char topic[192];
    snprintf(topic, sizeof topic, "openurl/1%s/outcome/from/%s", sender, host->name);
    mosquitto_publish_v5(client, NULL, topic, (int)reply_size, reply, 1, false, answer);
    mosquitto_property_free_all(&answer);
    free(id);
}

static void watch(struct host *host) {
    int socket = mosquitto_socket(host->client);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = host};
    if (socket < 0) {
        if (host->is_there) there--;
        host->is_there = false;
        if (host->socket >= 0) host->next = time(NULL) + 1;
        host->socket = -1;
        return;
    }
    if (mosquitto_want_write(host->client)) event.events |= EPOLLOUT;
    if (epoll_ctl(poll_set, socket == host->socket ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) != 0 && errno == EEXIST)
        epoll_ctl(poll_set, EPOLL_CTL_MOD, socket, &event);
    host->socket = socket;
}

static void join(struct host *host, bool is_first) {
    mosquitto_property *properties = NULL;
    mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL, 7 * 86400);
    int code = mosquitto_connect_bind_v5(host->client, "127.0.0.1", port, 60, NULL, properties);
    mosquitto_property_free_all(&properties);
    (void)is_first;
    if (code != MOSQ_ERR_SUCCESS) host->next = time(NULL) + 1;
    watch(host);
}

int main(int count, char **arguments) {
    if (count != 4) return 64;
    port = atoi(arguments[1]);
    int number = atoi(arguments[2]);
    FILE *file = fopen(arguments[3], "rb");
    if (!file) return 66;
    reply_size = fread(reply, 1, sizeof reply, file);
    fclose(file);
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    mosquitto_lib_init();
    seen = calloc(seen_size, sizeof *seen);
    poll_set = epoll_create1(EPOLL_CLOEXEC);
    struct host *hosts = calloc((size_t)number, sizeof *hosts);
    for (int index = 0; index < number; index++) {
        struct host *host = hosts + index;
        host->socket = -1;
        snprintf(host->name, sizeof host->name, "host-%d", index);
        host->client = mosquitto_new(host->name, false, host);
        mosquitto_int_option(host->client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
        mosquitto_int_option(host->client, MOSQ_OPT_TCP_NODELAY, 1);
        mosquitto_username_pw_set(host->client, host->name, "");
        mosquitto_connect_v5_callback_set(host->client, connected);
        mosquitto_subscribe_callback_set(host->client, subscribed);
        mosquitto_message_v5_callback_set(host->client, arrived);
        join(host, true);
    }
    int last = 0;
    time_t turn = time(NULL);
    while (!is_ending) {
        struct epoll_event events[256];
        int ready = epoll_wait(poll_set, events, 256, 200);
        for (int index = 0; index < ready; index++) {
            struct host *host = events[index].data.ptr;
            if (events[index].events & EPOLLOUT) mosquitto_loop_write(host->client, 1);
            if (events[index].events & ~(unsigned)EPOLLOUT) mosquitto_loop_read(host->client, 1);
            watch(host);
        }
        time_t now = time(NULL);
        for (int index = 0; index < number && now != turn; index++) {
            struct host *host = hosts + index;
            if (host->socket >= 0) mosquitto_loop_misc(host->client), watch(host);
            else if (host->next <= now) join(host, false);
        }
        turn = now;
        if (there == number && last != number) printf("all %d hosts are connected\n", number), fflush(stdout);
        last = there;
    }
    printf("%ld requests, %ld messages\n", requests, messages);
    return 0;
}
