"""A program sends texts that Swift compares in a time that grows with the square of their length."""

import time
import xml.etree.ElementTree as ElementTree
from attack import *
from bus import CALL, FIXED, LANE_PATH, ROUTER_PATH, Lane, encode, split
from lane import path as lane_socket

PEER, INTROSPECTABLE = "org.freedesktop.DBus.Peer", "org.freedesktop.DBus.Introspectable"
# Marks of two combining classes by turns, 128 KiB. One comparison of such a text takes a second.
MARKS = b"a" + b"\xcc\x81\xcc\x96" * (32 << 10)
# Keys of options with the longest runs of marks that are allowed, as many as a call takes.
ALLOWED = {(b"a" + b"\xcc\x81\xcc\x96" * 15) * 11 + str(number).encode(): ("s", "") for number in range(1300)}
LIMIT = 1  # seconds for the next call: far more than a call takes, and less than one such comparison
KEYS = ["annotation", "handle-token", "fallback"]


def value(kind, text):
    """Returns a value of a type, in which each string is the text."""
    if kind[0] in FIXED:
        return 0
    if kind[0] == "a":
        inner = value(kind[1:], text)
        return b"" if kind[1] == "y" else dict([inner]) if kind[1] == "{" else [inner]
    if kind[0] in "({":
        return tuple(value(part, text) for part in split(kind[1:-1]))
    return {"s": text, "o": "/", "g": "", "v": ("s", text)}[kind[0]]


def bodies(kinds):
    """Yields the arguments of calls: with the text everywhere, in one place, and below keys of options."""
    everywhere = [value(kind, MARKS) for kind in kinds]
    plain = [{} if kind == "a{sv}" else value(kind, f"{SCHEME}:?x") for kind in kinds]
    yield everywhere
    for place, kind in enumerate(kinds):
        if everywhere[place] != plain[place]:
            yield [*plain[:place], everywhere[place], *plain[place + 1:]]
        if kind == "a{sv}":
            yield [*plain[:place], ALLOWED, *plain[place + 1:]]
        for key in KEYS if kind == "a{sv}" else []:
            yield [*plain[:place], {key: ("s", MARKS)}, *plain[place + 1:]]


def methods(bus, to, path):
    """Yields the interface, the name and the signature of each method of an object that takes arguments."""
    text = bus.call(INTROSPECTABLE, "Introspect", to=to, path=path)[0]
    for interface in ElementTree.fromstring(text).iter("interface"):
        for method in interface.iter("method"):
            kinds = [arg.get("type") for arg in method.iter("arg") if arg.get("direction") == "in"]
            if kinds:
                yield interface.get("name"), method.get("name"), kinds


def ping(bus, to):
    """Returns the seconds of a call."""
    start = time.monotonic()
    bus.call(PEER, "Ping", to=to, path="/", wait=60)
    return time.monotonic() - start


def slowest(bus, to, path):
    """Calls each method of an object. Returns the number of calls, and the longest time of a call behind one of them with its name."""
    count, worst = 0, (0, "nothing")
    with open("/dev/null") as file:
        for interface, member, kinds in methods(bus, to, path):
            for body in bodies(kinds):
                fds = [file.fileno()] if "h" in "".join(kinds) else []
                bus.begin(interface, member, "".join(kinds), body, to, path, fds)
                # The method itself may run behind the first of the two calls.
                worst = max(worst, (ping(bus, to), member), (ping(bus, to), member))
                count += 1
                if worst[0] > LIMIT:
                    return count, worst
    return count, worst


def judge(objects):
    """Returns whether a call took too long."""
    count = sum(count for count, _ in objects)
    seconds, member = max(worst for _, worst in objects)
    if seconds <= LIMIT and count < 5 * len(objects):
        raise RuntimeError(f"only {count} calls were made")
    return seconds > LIMIT, f"{count} calls; behind {member}, a call took {seconds * 1000:.0f} ms"


@attack("texts", "calls each method of the router with texts that take long to compare", limit=120)
def router(session):
    session.begin()
    session.swift().start()
    return judge([slowest(session.bus, ROUTER, path) for path in [ROUTER_PATH, f"{ROUTER_PATH}/request/x/y"]])


@attack("texts", "calls each method of a handler with texts that take long to compare", limit=120)
def handler(session):
    session.begin()
    session.swift().start()
    return judge([slowest(session.bus, VICTIM, "/" + VICTIM.replace(".", "/"))])


@attack("texts", "calls each method over the lane with texts that take long to compare", limit=120)
def lane(session):
    session.begin()
    session.swift().start()
    session.router
    lane = Lane(lane_socket(session))
    return judge([slowest(lane, None, path) for path in [ROUTER_PATH, LANE_PATH]])


@attack("texts", "sends such a text over the lane in place of each name in a message's header", limit=60)
def header(session):
    session.begin()
    session.swift().start()
    session.router
    worst = 0
    for field in ["path", "interface", "member", "error", "destination", "sender"]:
        lane = Lane(lane_socket(session))
        fields = {"path": "/", "interface": PEER, "member": "Ping", field: MARKS}
        lane.socket.sendall(encode(CALL, 7, fields))
        worst = max(worst, ping(session.bus, ROUTER), ping(session.bus, ROUTER))
        lane.close()
    return worst > LIMIT, f"a call took {worst * 1000:.0f} ms"


@attack("texts", "answers the router with such texts, as a handler", limit=120)
def reply(session):
    session.begin()
    session.python(VICTIM, SCHEME, "marks")
    worst, words = 0, []
    for rest in ["?first", "?reply", "?error"]:
        start = time.monotonic()
        words.append(attempt(lambda: session.bus.open(f"{SCHEME}:{rest}")))
        # The first open starts the handler.
        if rest != "?first":
            worst = max(worst, time.monotonic() - start)
    return worst > LIMIT, f"an open took {worst * 1000:.0f} ms; {', '.join(words)}"
