#!/usr/bin/python3
"""Sends URLs from one router to others through openurl-bridge and a real mosquitto.

    bridge.py DIRECTORY chaos [COUNT EVENTS SEED]
    bridge.py DIRECTORY figures [HOSTS ...]

DIRECTORY holds openurl's programs. `chaos` has a router that sends URLs to two others, whose clocks are a day ahead and a day behind, and a
bridge for each. While URLs are on their way, it kills the broker and starts it again, with its files, without them, or with old ones; cuts
the network, at once or silently; kills a bridge; and publishes requests a second time. The exit status is 0 only if each URL was handled
once, and has its true outcome at the sender. URLs with a lifetime follow: none may be opened after it, and all others must be.

`figures` has one router, and simulated hosts that answer as routers would: it measures URLs a second, memory, and the time until 1,000 URLs
that were queued without a broker are through.
"""

import os, random, shutil, signal, socket, sqlite3, subprocess, sys, tempfile, threading, time
from collections import Counter
import dbus.mainloop.glib
from gi.repository import Gio, GLib
from hosts import DECLINED, EVERY, MANIFEST, TAKEN, Sender, opened
from private_bus import PrivateBus

HERE = os.path.dirname(os.path.realpath(__file__))
DAY = 86_400  # seconds
SHIFTS = {"ahead": DAY, "behind": -DAY}
LATE = "com.example.late"  # a handler whose program comes late


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def memory(pid):
    """Returns the private memory of a process in kB."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


def build(name, root, *options):
    """Builds a C program or library of this benchmark, and returns its path."""
    subprocess.run(["cc", "-O2", *options, "-o", f"{root}/{name}", f"{HERE}/Bridge/{name}.c", "-lmosquitto"], check=True)
    return f"{root}/{name}"


def write_outcome(path):
    """Writes the outcome of a URL in the form in which routers send it."""
    message = Gio.DBusMessage.new_signal("/", "org.freedesktop.DBus.Archive", "Body")
    values = {"handler": GLib.Variant("s", "com.example.simulated"), "way": GLib.Variant("s", "active")}
    message.set_body(GLib.Variant("(a{sv})", (values,)))
    message.set_serial(1)
    with open(path, "wb") as file:
        file.write(message.to_blob(Gio.DBusCapabilityFlags.NONE))


class Broker:
    """mosquitto with the rules of Packaging/bridge. Instead of certificates, it takes the clients' words for their names."""

    def __init__(self, root):
        self.root, self.port, self.process = root, free_port(), None
        os.makedirs(f"{root}/data")
        os.chmod(root, 0o755)
        shutil.copy(f"{HERE}/../Packaging/bridge/acl", f"{root}/acl")
        with open(f"{root}/acl", "a") as file:
            file.write("user replay\ntopic readwrite openurl/1/#\n")
        os.chmod(f"{root}/acl", 0o600)
        with open(f"{root}/conf", "w") as file:
            file.write(f"""listener {self.port} 127.0.0.1
allow_anonymous true
use_username_as_clientid true
acl_file {root}/acl
persistence true
persistence_location {root}/data/
autosave_interval 2
max_queued_messages 1000
max_inflight_messages 64
max_packet_size 1100000
user {"root" if os.getuid() == 0 else ""}
log_type error
log_type warning
log_type notice
""".replace("\nuser \n", "\n"))
        self.start()

    def start(self):
        with open(f"{self.root}/log", "a") as log:
            self.process = subprocess.Popen(["mosquitto", "-c", f"{self.root}/conf"], stdout=log, stderr=log)

    def kill(self, signal=signal.SIGKILL):
        self.process.send_signal(signal)
        self.process.wait()


class Proxy:
    """The network between the bridges and the broker."""

    def __init__(self, target):
        self.target, self.pairs, self.open = target, set(), threading.Event()
        self.open.set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            pair = (client, server)
            self.pairs.add(pair)
            for source, sink in [pair, pair[::-1]]:
                threading.Thread(target=self.copy, args=(source, sink, pair), daemon=True).start()

    def copy(self, source, sink, pair):
        try:
            while data := source.recv(65536):
                self.open.wait()
                sink.sendall(data)
        except OSError:
            pass
        self.end(pair)

    def end(self, pair):
        self.pairs.discard(pair)
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def cut(self):
        for pair in list(self.pairs):
            self.end(pair)

    def block(self):
        """Passes nothing on, and tells nobody."""
        self.open.clear()

    def unblock(self):
        self.cut()
        self.open.set()


class Bridge:
    def __init__(self, programs, bus, name, port):
        self.arguments, self.environment = [f"{programs}/openurl-bridge"], bus.environment | {"DBUS_SESSION_BUS_ADDRESS": bus.address}
        self.log = f"{bus.root}/bridge.log"
        os.makedirs(f"{bus.root}/config/openurl", exist_ok=True)
        with open(f"{bus.root}/config/openurl/bridge.conf", "w") as file:
            file.write(f"name {name}\nbroker 127.0.0.1 {port}\nkeepalive 5\n")
        self.start()

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(self.arguments, env=self.environment, stdout=log, stderr=log)

    def end(self, signal=signal.SIGTERM):
        self.process.send_signal(signal)
        self.process.wait()


class BridgeSender(Sender):
    def add_host(self):
        super().add_host("*", "bridge:")

    def state(self, url):
        """Returns the state of a URL that has ended; None before."""
        return self.states.get(self.numbers.get(url))


class Receiver(PrivateBus):
    """A router that takes URLs from `near`, with a clock that is a number of seconds ahead."""

    def __init__(self, programs, root, clock, shift):
        self.logs, self.late = {id: f"{root}/{id}.log" for id in [TAKEN, DECLINED, LATE]}, f"{root}/late"
        manifests = {
            id: MANIFEST.format(id=id, program=self.late if id == LATE else f"{programs}/testhandler", log=log,
                                scheme=id.rpartition(".")[2], more="<string>decline=no</string>" if id == DECLINED else "")
            for id, log in self.logs.items()
        }
        super().__init__(programs, root, manifests, {"LD_PRELOAD": clock, "CLOCK_SHIFT": str(shift)})
        os.makedirs(f"{root}/config/openurl")
        with open(f"{root}/config/openurl/policy.conf", "w") as file:
            file.writelines(f"allow {id.rpartition('.')[2]} from host:near\n" for id in self.logs)

    def opened(self):
        return sum((opened(log) for log in self.logs.values()), Counter())

    def shift(self):
        """Returns by how many seconds the router's latest URL is in the future, to the hour."""
        with sqlite3.connect(f"{self.root}/state/openurl/log.sqlite") as log:
            latest = log.execute("SELECT max(time) FROM entries").fetchone()[0]
        return round((latest / 1e6 - time.time()) / 3600) * 3600


def chaos(programs, root, count=2000, events=30, seed=None):
    seed = seed or random.randrange(1 << 32)
    choose = random.Random(seed)
    print(f"{count} URLs, {events} events, seed {seed}")
    broker = Broker(f"{root}/broker")
    proxy = Proxy(broker.port)
    clock = build("clock", root, "-shared", "-fPIC")
    fars = {name: Receiver(programs, f"{root}/{name}", clock, shift) for name, shift in SHIFTS.items()}
    near = BridgeSender(programs, f"{root}/near")
    far_bridges = {name: Bridge(programs, far, name, proxy.port) for name, far in fars.items()}
    bridges = [*far_bridges.values(), Bridge(programs, near, "near", proxy.port)]
    replayed = subprocess.Popen([build("replay", root), str(broker.port), "openurl/1/+/open/from/near"], stdout=subprocess.PIPE, text=True)
    done, left = Counter(), events
    kinds = ["restart", "lose", "old files", "cut", "silence", "bridge"]

    def act():
        nonlocal left
        if left == 0:
            return False
        left -= 1
        kind = choose.choice(kinds)
        done[kind] += 1
        if kind in ["restart", "lose", "old files"]:
            data = f"{broker.root}/data"
            if kind == "old files":
                # What the broker saves now, it will take for its state again later.
                shutil.rmtree(f"{broker.root}/old", ignore_errors=True)
                shutil.copytree(data, f"{broker.root}/old")
                GLib.timeout_add(1500, restore)
            else:
                broker.kill()
                if kind == "lose":
                    shutil.rmtree(data)
                    os.mkdir(data)
                GLib.timeout_add(choose.randrange(1, 500), start)
            return False
        if kind == "cut":
            proxy.cut()
        elif kind == "silence":
            proxy.block()
            GLib.timeout_add(choose.randrange(100, 9000), unblock)
            return False
        else:
            bridge = choose.choice(bridges)
            bridge.end(signal.SIGKILL)
            bridge.start()
        return again()

    def again():
        GLib.timeout_add(choose.randrange(1, 1500), act)
        return False

    def start():
        broker.start()
        return again()

    def restore():
        broker.kill()
        shutil.rmtree(f"{broker.root}/data")
        shutil.copytree(f"{broker.root}/old", f"{broker.root}/data")
        broker.start()
        return again()

    def unblock():
        proxy.unblock()
        return again()

    begin = time.monotonic()
    urls = [("declined" if number % EVERY == 0 else "taken") + f":{number}" for number in range(count)]
    GLib.timeout_add(300, act)
    # The URLs are spread over the events.
    pause = 0 if events == 0 else events * 1.2 / count
    for url in urls:
        near.send_to(choose.choice(list(fars)), url)
        end = time.monotonic() + pause
        near.run(lambda: time.monotonic() >= end)
    near.run(lambda: left == 0 and len(near.states) >= count)
    print(f"through after {time.monotonic() - begin:.1f} s; events: {dict(done)}")
    # A URL that expires while its host is away, or while it waits there, must not be opened later. Any other one must be.
    for name in fars:
        near.send_to(name, f"late:stale-{name}", lifetime=dbus.UInt32(3000))
        near.send_to(name, f"late:patient-{name}", lifetime=dbus.UInt32(60_000))
    stale, patient = [f"late:stale-{name}" for name in fars], [f"late:patient-{name}" for name in fars]
    near.run(lambda: all(near.state(url) == "dead" for url in stale))
    for name, bridge in far_bridges.items():
        bridge.end()
        near.send_to(name, f"taken:stale-{name}", lifetime=dbus.UInt32(2000))
        near.send_to(name, f"taken:patient-{name}", lifetime=dbus.UInt32(60_000))
    stale += [f"taken:stale-{name}" for name in fars]
    patient += [f"taken:patient-{name}" for name in fars]
    near.run(lambda: all(near.state(url) == "dead" for url in stale))
    end = time.monotonic() + 2
    near.run(lambda: time.monotonic() >= end)
    for name, far in fars.items():
        os.symlink(f"{programs}/testhandler", far.late)
        far_bridges[name].start()
    near.run(lambda: all(near.state(url) == "delivered" for url in patient))
    replayed.terminate()
    print(replayed.communicate()[0].strip())
    problems = []
    times = sum((far.opened() for far in fars.values()), Counter())
    for url in urls + stale + patient:
        handled = 0 if url in stale else 1
        if times[url] != handled:
            problems.append(f"{url} was handled {times[url]} times")
        expected = "dead" if url in stale or url.startswith("declined") else "delivered"
        if near.state(url) != expected:
            problems.append(f"{url} should be {expected}, and is {near.state(url)}")
    for entry in near.queue():
        reason = "TimedOut" if entry["url"] in stale else "Declined"
        if not str(entry.get("error", "")).endswith(reason):
            problems.append(f"{entry['url']} is a dead letter without its reason, {reason}")
    for name, shift in SHIFTS.items():
        if fars[name].shift() != shift:
            problems.append(f"the clock of {name} is shifted by {fars[name].shift()} s instead of {shift}")
    for bridge in bridges:
        bridge.end()
    for bus in [near, *fars.values()]:
        bus.end()
    broker.kill()
    for problem in problems[:20]:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} problems; the files are in {root}")
    print("each URL was handled once, and has its outcome; those that had expired were never opened")


def figures(programs, root, *counts):
    simulator, outcome = build("hosts", root), f"{root}/outcome"
    write_outcome(outcome)
    print(f"{'hosts':>6} {'URLs':>6} {'URLs/s':>7} {'kB a host: router':>18} {'bridge':>7} {'broker':>7} {'1,000 after the broker':>23}")
    for count in counts or [1, 100, 1000]:
        place = f"{root}/{count}"
        os.mkdir(place)
        broker = Broker(f"{place}/broker")
        near = BridgeSender(programs, f"{place}/near")
        bridge = Bridge(programs, near, "near", broker.port)
        hosts = subprocess.Popen([simulator, str(broker.port), str(count), outcome], stdout=subprocess.PIPE, text=True)
        hosts.stdout.readline()
        daemon = near.bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus", introspect=False)
        router = daemon.GetConnectionUnixProcessID("org.openurl.Router1", dbus_interface="org.freedesktop.DBus")
        processes = [router, bridge.process.pid, broker.process.pid]
        # Caches grow with the first URLs, and not with the hosts.
        warm, total = 2000, 4000
        for number in range(warm):
            near.send_to("host-0", f"x:warm-{number}")
        near.run(lambda: len(near.states) == warm)
        before = [memory(pid) for pid in processes]
        begin = time.monotonic()
        for number in range(total):
            near.send_to(f"host-{number % count}", f"x:{number}")
        near.run(lambda: len(near.states) == warm + total)
        speed = total / (time.monotonic() - begin)
        growth = [(memory(pid) - old) / count for pid, old in zip(processes, before)]
        broker.kill(signal.SIGTERM)
        for number in range(1000):
            near.send_to(f"host-{number % count}", f"x:late-{number}")
        near.run(lambda: near.calls == 0)
        begin = time.monotonic()
        broker.start()
        near.run(lambda: len(near.states) == warm + total + 1000)
        late = time.monotonic() - begin
        hosts.terminate()
        requests, messages = [int(words.split()[0]) for words in hosts.communicate()[0].splitlines()[-1].split(",")]
        print(f"{count:6} {total:6} {speed:7.0f} {growth[0]:18.1f} {growth[1]:7.1f} {growth[2]:7.1f} {late:20.1f} s")
        if requests != warm + total + 1000:
            sys.exit(f"the hosts have had {requests} requests in {messages} messages")
        print(f"{'':6} each host has had its URLs once; {messages - requests} requests arrived twice")
        with open(f"{broker.root}/log") as log:
            if "are being dropped" in log.read():
                sys.exit("the broker has lost messages, and URLs waited until they were sent again")
        bridge.end()
        near.end()
        broker.kill()


def main(programs, mode, *numbers):
    root = tempfile.mkdtemp(prefix="openurl-bridge-")
    {"chaos": chaos, "figures": figures}[mode](os.path.realpath(programs), root, *map(int, numbers))
    shutil.rmtree(root)


if __name__ == "__main__":
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    main(*sys.argv[1:])
