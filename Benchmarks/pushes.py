#!/usr/bin/python3
"""Sends pushes to suspended handlers while the router is killed, and accounts for each one.

    pushes.py DIRECTORY [HANDLERS PUSHES KILLS]

DIRECTORY holds openurl's programs. The program starts its own bus, the bus starts the router, and the router starts the
handlers. It is the UnifiedPush distributor too: it sends a push again until the router has acknowledged it. Then it measures how
long a push takes to a handler that is running.

The exit status is 0 only if every handler got each of its pushes.
"""

import collections, os, shutil, statistics, sys, tempfile, time
import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib
from private_bus import ROUTER, PrivateBus

DISTRIBUTOR, CONNECTOR = "org.unifiedpush.Distributor2", "org.unifiedpush.Connector2"
WARM = 300  # pushes to a running handler

MANIFEST = """<?xml version="1.0"?><plist version="1.0"><dict>
<key>CFBundleIdentifier</key><string>{id}</string>
<key>CFBundleExecutable</key><string>{program}</string>
<key>OUArguments</key><array><string>{id}</string><string>{log}</string></array>
<key>OUSuspendDelay</key><real>{delay}</real>
<key>CFBundleURLTypes</key><array><dict>
<key>CFBundleURLSchemes</key><array><string>{scheme}</string></array>
</dict></array>
</dict></plist>"""


class Distributor(dbus.service.Object):
    """Registers every connector, and gives it an endpoint."""

    def __init__(self, bus):
        super().__init__(bus, "/org/unifiedpush/Distributor")
        self.bus = bus

    @dbus.service.method(DISTRIBUTOR, in_signature="a{sv}", out_signature="a{sv}")
    def Register(self, arguments):
        token = str(arguments["token"])
        GLib.idle_add(lambda: self.call("NewEndpoint", {"token": token, "endpoint": token}) and False)
        return {"success": "REGISTRATION_SUCCEEDED"}

    def call(self, method, arguments, done=lambda answer: None, failed=lambda error: None):
        self.bus.call_async(ROUTER, "/org/unifiedpush/Connector", CONNECTOR, method, "a{sv}",
                            (dbus.Dictionary(arguments, signature="sv"),), done, failed, timeout=30)


class Pushes(PrivateBus):
    def __init__(self, programs, root, handlers):
        self.handlers = [f"com.example.pushed{number}" for number in range(handlers)]
        super().__init__(programs, root, {id: MANIFEST.format(
            id=id,
            program=f"{programs}/testhandler",
            log=f"{root}/{id}.log",
            scheme=id.rpartition(".")[2],
            # The last handler stays in the background, where its pushes are measured.
            delay=600 if id == self.handlers[-1] else 0.1,
        ) for id in self.handlers})
        self.bus.request_name("org.unifiedpush.Distributor.bench")
        self.distributor = Distributor(self.bus)
        self.endpoints = {}
        self.unacknowledged, self.acknowledged, self.sent_again = {}, 0, 0
        self.kills = collections.deque()

    def log(self, id):
        return f"{self.root}/{id}.log"

    def register(self):
        for number, id in enumerate(self.handlers):
            # The router limits the calls that wait for a distributor.
            self.run(lambda: number - len(self.endpoints) < 16)
            self.call("Push1", "Register", "sa{sv}", id, {}, done=lambda answer: self.endpoints.update(
                {str(answer["handler"]): str(answer["endpoint"])}))
        self.run(lambda: len(self.endpoints) == len(self.handlers))

    def suspend(self):
        """Launches all handlers, and suspends all but the last one."""
        left = set(self.handlers)
        for id in self.handlers:
            woken = lambda id=id: self.call("Lifecycle1", "Suspend", "s", id, done=lambda: left.discard(id)) \
                if id != self.handlers[-1] else left.discard(id)
            self.call("Lifecycle1", "Wake", "s", id, done=woken)
        self.run(lambda: not left)

    def push(self, id, text):
        self.unacknowledged[text] = id
        self.send(text)

    def send(self, text):
        id = self.unacknowledged.get(text)
        if not id:
            return False

        def done(answer):
            self.unacknowledged.pop(text, None)
            self.acknowledged += 1
            if self.kills and self.acknowledged >= self.kills[0]:
                self.kills.popleft()
                self.kill_router()

        def failed(error):
            self.sent_again += 1
            GLib.timeout_add(50, self.send, text)

        message = dbus.Array(text.encode(), signature="y", variant_level=1)
        self.distributor.call("Message", {"token": self.endpoints[id], "id": text, "message": message}, done, failed)
        return False

    def seen(self, id):
        if not os.path.exists(self.log(id)):
            return collections.Counter()
        with open(self.log(id)) as file:
            return collections.Counter(line[5:].rstrip("\n") for line in file if line.startswith("push "))

    def deliver(self, count, kills):
        """Sends pushes to all handlers in turn, and returns how many were lost and how many came more than once."""
        handlers = self.handlers[:-1]
        self.kills.extend(count * (number + 1) // (kills + 1) for number in range(kills))
        pushes = [(handlers[number % len(handlers)], f"{number}") for number in range(count)]
        for id, text in pushes:
            self.push(id, text)
            # A server sends them one after the other.
            self.run(lambda: len(self.unacknowledged) < 16)
        self.run(lambda: not self.unacknowledged)
        seen = {}

        def is_complete():
            seen.update({id: self.seen(id) for id in handlers})
            return all(seen[id][text] for id, text in pushes)

        self.run(is_complete)
        return [text for id, text in pushes if not seen[id][text]], sum(seen[id][text] - 1 for id, text in pushes)

    def measure(self):
        """Returns how many milliseconds pass from the distributor's call until the router has the handler's answer."""
        id, times, delivered = self.handlers[-1], [], []
        self.bus.add_signal_receiver(lambda number, state: delivered.append(state), "StateChanged", "org.openurl.Queue1")
        subscribed = []
        self.call("Router1", "Subscribe", "", done=lambda: subscribed.append(True))
        self.run(lambda: subscribed)
        for number in range(WARM):
            delivered.clear()
            start = time.monotonic()
            self.push(id, f"warm {number}")
            self.run(lambda: "delivered" in delivered)
            times.append((time.monotonic() - start) * 1000)
        return times


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    handlers, count, kills = map(int, sys.argv[2:] or [100, 1000, 10])
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    root = tempfile.mkdtemp(prefix="openurl-pushes-")
    pushes = Pushes(os.path.realpath(sys.argv[1]), root, handlers + 1)
    try:
        pushes.register()
        pushes.suspend()
        start = time.monotonic()
        lost, repeated = pushes.deliver(count, kills)
        print(f"{count} pushes to {handlers} suspended handlers, router killed {kills - len(pushes.kills)} times: "
              f"{len(lost)} lost, {repeated} delivered again, {pushes.sent_again} sent again, {time.monotonic() - start:.1f} s")
        times = sorted(pushes.measure())
        print(f"{WARM} pushes to a running handler, from the call until the handler has answered: "
              f"median {statistics.median(times):.1f} ms, 99 % {times[len(times) * 99 // 100]:.1f} ms, most {times[-1]:.1f} ms")
    finally:
        pushes.end()
    if lost:
        sys.exit(f"lost: {lost[:20]}; the logs are in {root}")
    shutil.rmtree(root, ignore_errors=True)


main()
