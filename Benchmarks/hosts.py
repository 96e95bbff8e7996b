#!/usr/bin/python3
"""Sends URLs from one router to another over ssh, cuts the connection at random, and accounts for each URL.

    hosts.py DIRECTORY [COUNT CUTS KILLS SEED]

DIRECTORY holds openurl's programs. The program starts two buses, and each bus starts a router. A real sshd connects them. A cut kills
the client's ssh, the server's sshd, or `openurl receive`. KILLS more times, it kills one of the routers.

The exit status is 0 only if each URL was handled once, and has its true outcome at the sender: one handler takes its URLs, and the
other declines them. A URL that a handler had when the far router was killed may be handled twice.
"""

import os, random, shutil, subprocess, sys, tempfile, time
from collections import Counter
import dbus.mainloop.glib
from gi.repository import GLib
from private_bus import PATH, ROUTER, PrivateBus

IN_FLIGHT = 64  # calls
TAKEN, DECLINED = "com.example.taken", "com.example.declined"
EVERY = 10  # The one of so many URLs that is declined.

MANIFEST = """<?xml version="1.0"?><plist version="1.0"><dict>
<key>CFBundleIdentifier</key><string>{id}</string>
<key>CFBundleExecutable</key><string>{program}</string>
<key>OUArguments</key><array><string>{id}</string><string>{log}</string>{more}</array>
<key>CFBundleURLTypes</key><array><dict>
<key>CFBundleURLSchemes</key><array><string>{scheme}</string></array>
</dict></array>
</dict></plist>"""


class Server:
    """The files of an sshd and of a client that knows it as `box`. ssh starts the server for each connection."""

    def __init__(self, root, programs, far):
        self.root, self.pids = root, {}
        os.makedirs(f"{root}/bin")
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        for name in ["host", "key"]:
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{root}/{name}"], check=True)
        with open(f"{root}/key.pub") as key, open(f"{root}/authorized", "w") as file:
            file.write(f'restrict,command="{root}/session" {key.read()}')
        with open(f"{root}/host.pub") as key:
            self.write("known", f"box {key.read()}")
        self.write("server", f"""HostKey {root}/host
AuthorizedKeysFile {root}/authorized
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
""")
        self.write("client", f"""Host box
    ProxyCommand {root}/serve
    IdentityFile {root}/key
    IdentitiesOnly yes
    UserKnownHostsFile {root}/known
    LogLevel ERROR
""")
        self.script("serve", f"echo $$ >{root}/sshd.pid; exec /usr/sbin/sshd -i -f {root}/server")
        self.script("session", f"echo $$ >{root}/receive.pid; export DBUS_SESSION_BUS_ADDRESS={far.address} HOME={far.root}\n"
                    f"exec {programs}/openurl receive --from near")
        self.script("bin/ssh", f"echo $$ >{root}/ssh.pid; exec /usr/bin/ssh -F {root}/client \"$@\"")

    def write(self, name, text):
        with open(f"{self.root}/{name}", "w") as file:
            file.write(text)

    def script(self, name, text):
        self.write(name, f"#!/bin/sh\n{text}\n")
        os.chmod(f"{self.root}/{name}", 0o700)

    def cut(self, name):
        """Kills the latest of the three processes with this name. Returns whether it was there."""
        try:
            with open(f"{self.root}/{name}.pid") as file:
                pid = int(file.read())
            # Each of them began as a script of this directory, so the number is that of a process of this program.
            with open(f"/proc/{pid}/cmdline") as file:
                if name not in file.read():
                    return False
            os.kill(pid, 9)
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return False
        return True


class Sender(PrivateBus):
    def __init__(self, programs, root):
        super().__init__(programs, root, {})
        self.numbers, self.states, self.calls = {}, {}, 0
        self.bus.add_signal_receiver(self.changed, "StateChanged", "org.openurl.Queue1", path=PATH)
        self.bus.watch_name_owner(ROUTER, self.owner_changed)
        self.add_host()

    def add_host(self, name="far", address="ssh:box"):
        answers = []
        self.call("Hosts1", "Add", "ss", name, address, done=lambda: answers.append(True))
        self.run(lambda: answers)

    def owner_changed(self, owner):
        """Subscribes to the signals of a new router. The call starts it."""
        if not owner:
            self.call("Router1", "Subscribe", "")

    def changed(self, number, state):
        if state in ["delivered", "dead"]:
            self.states[str(number)] = str(state)

    def send(self, url):
        self.send_to("far", url)

    def send_to(self, host, url, **options):
        def answered(result):
            self.calls -= 1
            self.numbers[url] = str(result["id"])

        self.run(lambda: self.calls < IN_FLIGHT)
        self.calls += 1
        self.call("Router1", "OpenURL", "sa{sv}", url, {"to": host} | options, done=answered)

    def queue(self):
        """Returns the queue's entries."""
        entries, page = [], [None]
        while page:
            answer = []
            after = str(entries[-1]["id"]) if entries else ""
            self.call("Queue1", "List", "s", after, done=answer.append)
            self.run(lambda: answer)
            page = answer[0]
            entries += page
        return entries


def opened(log):
    try:
        with open(log) as file:
            return Counter(line.split(" ", 1)[1].strip() for line in file if line.startswith("open "))
    except FileNotFoundError:
        return Counter()


def main(programs, count=10_000, cuts=100, kills=0, seed=None):
    seed = seed or random.randrange(1 << 32)
    choose = random.Random(seed)
    print(f"{count} URLs, {cuts} cuts, {kills} killed routers, seed {seed}")
    programs = os.path.realpath(programs)
    root = tempfile.mkdtemp(prefix="openurl-hosts-")
    logs = {id: f"{root}/{id}.log" for id in [TAKEN, DECLINED]}
    manifests = {
        id: MANIFEST.format(id=id, program=f"{programs}/testhandler", log=logs[id], scheme=id.rpartition(".")[2],
                            more="<string>decline=no</string>" if id == DECLINED else "")
        for id in logs
    }
    far = PrivateBus(programs, f"{root}/far", manifests)
    os.makedirs(f"{root}/far/config/openurl")
    with open(f"{root}/far/config/openurl/policy.conf", "w") as file:
        file.write("allow taken from host:near\nallow declined from host:near\n")
    server = Server(f"{root}/ssh", programs, far)
    os.environ["PATH"] = f"{root}/ssh/bin:{os.environ['PATH']}"
    near = Sender(programs, f"{root}/near")
    events = ["cut"] * cuts + ["kill"] * kills
    choose.shuffle(events)
    done = Counter()

    def act():
        if not events:
            return False
        if events[-1] == "kill":
            # Until the near router has stored a URL, its loss is reported to the caller.
            name = choose.choice(["near", "far"] if near.calls == 0 else ["far"])
            try:
                {"near": near, "far": far}[name].kill_router()
                done[f"{name} router"] += 1
                events.pop()
            except dbus.DBusException:
                pass  # It has not been started again yet.
        else:
            name = choose.choice(["ssh", "sshd", "receive"])
            if server.cut(name):
                done[name] += 1
                events.pop()
        # Most cuts come while URLs are on their way, and some while the next connection is being made.
        wait() if choose.random() < 0.75 else GLib.timeout_add(choose.randrange(1, 300), act)
        return False

    def wait():
        """Spreads the events over the URLs."""
        begun = total - len(events)
        goal = begun * count / (total + 1)

        def look():
            if len(near.states) >= goal:
                GLib.timeout_add(choose.randrange(1, 30), act)
                return False
            return True

        GLib.timeout_add(20, look)

    total = len(events)
    begin = time.monotonic()
    urls = [("declined" if number % EVERY == 0 else "taken") + f":{number}" for number in range(count)]
    wait()
    for url in urls:
        near.send(url)
    near.run(lambda: near.calls == 0)
    stored = time.monotonic() - begin

    def are_settled():
        return not events and not any(entry["state"] in ["waiting", "delivering"] for entry in near.queue())

    near.run(lambda: len(near.states) >= count or kills and are_settled())
    time_needed = time.monotonic() - begin
    problems = []
    times = opened(logs[TAKEN]) + opened(logs[DECLINED])
    for url in urls:
        if times[url] != 1:
            problems.append(f"{url} was handled {times[url]} times")
    dead = {str(entry["id"]): str(entry.get("error", "")) for entry in near.queue()}
    for url in urls:
        state, number = near.states.get(near.numbers[url]), near.numbers[url]
        # Dead letters beyond a thousand make way for newer ones.
        if url.startswith("declined"):
            if state != "dead" and not kills:
                problems.append(f"{url} was declined, and the sender has {state}")
            if number in dead and not dead[number].endswith("Declined"):
                problems.append(f"{url} was declined, and the sender has {dead[number]}")
        elif state != "delivered" and not kills or number in dead:
            problems.append(f"{url} was taken, and the sender has {state}")
    near.end()
    far.end()
    print(f"stored in {stored:.1f} s, through in {time_needed:.1f} s; killed: {dict(done)}, left: {len(events)}")
    twice = sum(1 for url in urls if times[url] > 1)
    if kills and twice and len(problems) == twice:
        print(f"{twice} were handled twice, because the far router was killed while a handler had them")
        problems = [] if twice <= done["far router"] * 2 else problems
    for problem in problems[:20]:
        print(problem)
    if problems or events:
        sys.exit(f"{len(problems)} problems, {len(events)} cuts that did not happen; the files are in {root}")
    shutil.rmtree(root)
    print("each URL was handled once, and has its outcome")


if __name__ == "__main__":
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    main(sys.argv[1], *[int(argument) for argument in sys.argv[2:]])
