#!/usr/bin/python3
"""A program that takes all it can get from the router.

    flooder.py KIND [KEY=VALUE ...]

Prints a line when the first round is over, and goes on until it is ended. The keys: `connections`, `calls` of a connection in a
round, `bytes` of each call, `url`, `id`, `descriptors` of each call, `leave` to close the connections after each round, `once` to
stop after the first round, `lane` to use the router's own socket instead of the bus.
"""

import os, select, sys, time
from bus import ROUTER, Bus, BusError, Lane, NoAnswer

REGISTRY, LIFECYCLE, QUEUE = "org.openurl.Registry1", "org.openurl.Lifecycle1", "org.openurl.Queue1"
KIND = sys.argv[1]
WORDS = {"connections": 1, "calls": 1000, "bytes": 0, "url": "stalled:x", "id": "com.example.victim", "descriptors": 0}
WORDS |= {key: int(value) if value.isdigit() else value for key, _, value in (word.partition("=") for word in sys.argv[2:])}
COUNT = 0


def forget(bus):
    """Throws away what has arrived."""
    bus.waiting.clear()
    while select.select([bus.socket], [], [], 0)[0]:
        try:
            bus.receive_new(0)
        except NoAnswer as error:
            if "closed" in str(error):
                return


def rest(connections, seconds):
    """Makes a pause, in which all that arrives is read."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select([] if "unread" in WORDS else [bus.socket for bus in connections], [], [], left)
        for bus in connections:
            if bus.socket in ready:
                forget(bus)


def opens(bus, number):
    options = {}
    if WORDS["bytes"]:
        options["annotation"] = ("s", "x" * WORDS["bytes"])
    fds = []
    if WORDS["descriptors"]:
        fds = [NULL] * WORDS["descriptors"]
        options["annotation"] = ("ah", list(range(len(fds))))
    bus.begin(ROUTER, "OpenURL", "sa{sv}", [f"{WORDS['url']}{number}", options], fds=fds)


def queues(bus, number):
    url = f"{WORDS['url']}{number}".ljust(max(WORDS["bytes"], 10), "x")
    bus.begin(ROUTER, "OpenURL", "sa{sv}", [url, {"delivery": ("s", "queued")}])


def bad(bus, number):
    bus.begin(ROUTER, "OpenURL", "sa{sv}", [f"bad url {number} " + "\x07\n" * (WORDS["bytes"] // 2), {}])


def many(bus, number):
    bus.begin(ROUTER, "OpenURLs", "asa{sv}", [["x:"] * 60_000, {}])


def lists(bus, number):
    bus.begin(*[(REGISTRY, "ListHandlers"), (LIFECYCLE, "List"), (REGISTRY, "ListSchemes")][number % 3])


def asks(bus, number):
    bus.begin(ROUTER, "Explain", "sa{sv}", [f"{WORDS['url']}{number}", {}])


def pages(bus, number):
    bus.begin(QUEUE, "List", "s", [""])


def lifecycle(bus, number):
    bus.begin(LIFECYCLE, ["Background", "Wake", "Activate"][number % 3], "s", [WORDS["id"]])


def relieves(bus, number):
    bus.begin(LIFECYCLE, "RelieveMemory")


def notifies(bus, number):
    bus.begin(LIFECYCLE, "Notify", "ssv", [WORDS["id"], f"kind{number}" + "k" * 1000, ("s", "x" * WORDS["bytes"])])


def tasks(bus, number):
    bus.begin(LIFECYCLE, "BeginBackgroundTask", "s", [f"task{number}" + "x" * WORDS["bytes"]])


def reloads(bus, number):
    bus.begin(REGISTRY, "Reload")


def descriptors(bus, number):
    """Calls a method that takes no descriptors with descriptors."""
    bus.begin(ROUTER, "OpenURL", "sa{sv}", [f"{WORDS['url']}{number}", {}], fds=[NULL] * WORDS["descriptors"])


def connect():
    """Connects to the bus, or to the router's own socket where the key `lane` says so."""
    return Lane() if "lane" in WORDS else Bus()


NULL = os.open("/dev/null", os.O_RDONLY)
KINDS = {"opens": opens, "queues": queues, "bad": bad, "many": many, "lists": lists, "asks": asks, "pages": pages,
         "lifecycle": lifecycle, "relieves": relieves, "notifies": notifies, "tasks": tasks, "reloads": reloads,
         "descriptors": descriptors}


def main():
    connections, number = [], 0
    while True:
        while len(connections) < WORDS["connections"]:
            connections.append(connect())
        for _ in range(WORDS["calls"]):
            for bus in list(connections):
                number += 1
                try:
                    KINDS[KIND](bus, number)
                    if "unread" not in WORDS:
                        forget(bus)
                except (OSError, NoAnswer):
                    # The bus has closed the connection.
                    bus.close()
                    connections.remove(bus)
                    connections.append(connect())
        if "once" in WORDS and "unread" not in WORDS:
            for bus in connections:
                try:
                    bus.call("org.freedesktop.DBus.Peer", "Ping") if "lane" in WORDS else bus.call_bus("GetId")
                except (NoAnswer, OSError):
                    pass
        print(number, flush=True)
        if "leave" in WORDS:
            for bus in connections:
                bus.close()
            connections = []
        if "once" in WORDS:
            sys.stdin.read()
            return
        # A round without a pause would only measure how fast this program writes.
        rest(connections, float(WORDS.get("pause", 0)))


main()
