/* Publishes each request to a host a second time, for Benchmarks/bridge.py.

   replay PORT TOPIC */

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long count;
static const char *topic;
static struct mosquitto *client;

static void end(int signal) {
    (void)signal;
    mosquitto_disconnect(client);
}

static void connected(struct mosquitto *client, void *object, int code, int flags, const mosquitto_property *properties) {
    (void)object, (void)code, (void)flags, (void)properties;
    mosquitto_subscribe_v5(client, NULL, topic, 1, MQTT_SUB_OPT_NO_LOCAL, NULL);
}

static void arrived(struct mosquitto *client, void *object, const struct mosquitto_message *message, const mosquitto_property *properties) {
    (void)object;
    mosquitto_property *copy = NULL;
    char *answers = NULL;
    void *id = NULL;
    uint16_t size = 0;
    uint32_t expiry = 0;
    if (mosquitto_property_read_string(properties, MQTT_PROP_RESPONSE_TOPIC, &answers, false))
        mosquitto_property_add_string(&copy, MQTT_PROP_RESPONSE_TOPIC, answers);
    if (mosquitto_property_read_binary(properties, MQTT_PROP_CORRELATION_DATA, &id, &size, false))
        mosquitto_property_add_binary(&copy, MQTT_PROP_CORRELATION_DATA, id, size);
    if (mosquitto_property_read_int32(properties, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, &expiry, false))
        mosquitto_property_add_int32(&copy, MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, expiry);
    mosquitto_publish_v5(client, NULL, message->topic, message->payloadlen, message->payload, 1, false, copy);
    mosquitto_property_free_all(&copy);
    free(answers);
    free(id);
    count++;
}

int main(int arguments, char **argument) {
    if (arguments != 3) return 64;
    topic = argument[2];
    mosquitto_lib_init();
    client = mosquitto_new("replay", false, NULL);
    mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    mosquitto_username_pw_set(client, "replay", "");
    mosquitto_connect_v5_callback_set(client, connected);
    mosquitto_message_v5_callback_set(client, arrived);
    signal(SIGTERM, end);
    while (mosquitto_connect(client, "127.0.0.1", atoi(argument[1]), 60) != MOSQ_ERR_SUCCESS) {}
    mosquitto_loop_forever(client, 100, 1);
    printf("%ld requests were published a second time\n", count);
    return 0;
}
