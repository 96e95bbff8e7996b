#!/usr/bin/python3
"""Kills senders, handlers, the router and the bus, and makes handlers sick, at random while URLs and files are sent.

Accounts for every URL, for every file, and for every process that the router has killed.

    chaos.py DIRECTORY SECONDS [SEED]

DIRECTORY holds openurl's programs. The program starts its own bus, the bus starts the router, and the router starts the
handlers. All processes stay descendants of this program, even after their parents have died, and the program kills no
other process.

The exit status is 0 only if all of these conditions hold:

- Every call ended in time.
- The handlers saw an opened URL once, a refused URL never, and a URL whose sender, handler or router died at most once.
- A file that was queued arrived, or the queue reports it. Every file in an inbox is whole.
- Every process that lost its bus ended.
- No process left a zombie, and no handler ran twice.
- Every handler opens a URL in the end.
- The router killed no healthy handler. A handler is sick while a method hangs, or after a background task without an end.
"""

import ctypes, json, os, random, re, shutil, signal, sys, tempfile, time
from collections import Counter

HANDLERS = [f"com.example.chaos{number}" for number in range(4)]
PROGRAMS = {"handler": "testhandler", "router": "openurld"}
CALLERS = 4
# The allowed numbers of times that a handler sees a URL, by the exit status of `openurl`.
TIMES = {0: {1}} | dict.fromkeys([5, 6, 69, -9], {0, 1}) | dict.fromkeys([1, 2, 3, 4, 7, 8, 9], {0})
CALL_LIMIT = 30  # seconds; the call itself has a limit of 10
TEXT_LINES = 20_000  # of a file
DRAIN_LIMIT = 120  # seconds in which the queue gets empty
END_LIMIT = 10  # seconds in which a process ends after its bus has ended
PR_SET_CHILD_SUBREAPER = 36
# The methods of the delegate that can hang, and "task" for a background task without an end.
FAULTS = ["willFinishLaunching", "didFinishLaunching", "open", "didBecomeActive", "willResignActive", "didEnterBackground"]
FAULTS += ["willEnterForeground", "willEncodeRestorableState", "willTerminate", "task"]

MANIFEST = """<?xml version="1.0"?><plist version="1.0"><dict>
<key>CFBundleIdentifier</key><string>{id}</string>
<key>CFBundleExecutable</key><string>{program}</string>
<key>OUArguments</key><array><string>{id}</string><string>{log}</string><string>faults</string>
<string>task-url</string></array>
<key>OUSuspendDelay</key><real>0.1</real>
<key>OULaunchTimeout</key><real>2</real>
<key>OUTransitionTimeout</key><real>2</real>
<key>OUOpenTimeout</key><real>2</real>
<key>OUBackgroundTime</key><real>2</real>
<key>CFBundleURLTypes</key><array><dict>
<key>CFBundleURLSchemes</key><array><string>{scheme}</string></array>
</dict></array>
<key>CFBundleDocumentTypes</key><array><dict>
<key>CFBundleTypeExtensions</key><array><string>{scheme}</string></array>
</dict></array>
</dict></plist>"""


def scheme(handler):
    return handler.rpartition(".")[2]


def descendants():
    """Returns the name, the state and the parent of each descendant of this program, by process ID and start time.

    The start time distinguishes the process from a later process with the same ID.
    """
    processes = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat", errors="replace") as file:
                name, fields = re.match(r"\d+ \((.*)\) (.*)", file.read(), re.S).groups()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = fields.split()
        processes[int(number), int(fields[19])] = (name, fields[0], int(fields[1]))
    found, parents = {}, {os.getpid()}
    while parents:
        children = {process: facts for process, facts in processes.items() if facts[2] in parents}
        found |= children
        parents = {process[0] for process in children}
    return found


def processes_of(program):
    return [process for process, facts in descendants().items() if facts[0] == program and facts[1] != "Z"]


class Chaos:
    def __init__(self, programs, root):
        self.programs, self.root = os.path.realpath(programs), root
        self.environment = {"PATH": os.environ["PATH"], "HOME": root, "XDG_DATA_DIRS": f"{root}/none"}
        for part in ["DATA", "CONFIG", "CACHE", "STATE"]:
            self.environment[f"XDG_{part}_HOME"] = f"{root}/{part.lower()}"
        self.environment["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={root}/no-system-bus"
        # The router's own socket is here.
        self.environment["XDG_RUNTIME_DIR"] = f"{root}/run"
        os.mkdir(f"{root}/run", 0o700)
        self.calls, self.results, self.longest = {}, {}, 0
        self.number, self.pause, self.is_stopping = 0, 0, False
        self.files, self.queued, self.reported = set(), set(), {}
        os.mkdir(f"{root}/files")
        self.buses, self.killed, self.problems = 0, Counter(), []
        self.write_files()
        self.start_bus()

    def write_files(self):
        services = f"{self.root}/data/dbus-1/services"
        manifests = f"{self.root}/data/openurl/handlers"
        os.makedirs(services)
        os.makedirs(manifests)
        with open(f"{services}/org.openurl.Router1.service", "w") as file:
            file.write(f"[D-BUS Service]\nName=org.openurl.Router1\nExec={self.programs}/openurld\n")
        for id in HANDLERS:
            with open(f"{manifests}/{id}.plist", "w") as file:
                program, log = f"{self.programs}/testhandler", f"{self.root}/{id}.log"
                file.write(MANIFEST.format(id=id, program=program, log=log, scheme=scheme(id)))

    def start_bus(self):
        self.buses += 1
        read, write = os.pipe()
        address = f"unix:path={self.root}/bus{self.buses}"
        actions = [(os.POSIX_SPAWN_DUP2, write, 1), self.log]
        arguments = ["setpriv", "--pdeathsig", "KILL", "dbus-daemon", "--session", "--nofork", "--nopidfile"]
        arguments += ["--print-address=1", f"--address={address}"]
        self.environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
        self.bus = os.posix_spawnp("setpriv", arguments, self.environment, file_actions=actions, setsigmask=[])
        os.close(write)
        with os.fdopen(read) as output:
            self.environment["DBUS_SESSION_BUS_ADDRESS"] = output.readline().strip()

    @property
    def log(self):
        return (os.POSIX_SPAWN_OPEN, 2, f"{self.root}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    # Calls

    def open_url(self, handler):
        """Opens the URL of the next number."""
        self.number += 1
        self.run_openurl(["--background"] if random.random() < 0.3 else [], "--timeout", "10s", f"{scheme(handler)}:{self.number}")
        return self.number

    def send_file(self, handler):
        """Sends a file of the next number."""
        self.number += 1
        self.files.add(self.number)
        path = f"{self.root}/files/{self.number}.{scheme(handler)}"
        with open(path, "w") as file:
            file.write(self.text(self.number))
        queue = ["--queue"] if random.random() < 0.5 else []
        if queue:
            self.queued.add(self.number)
        self.run_openurl(["send", "--to", handler, "--timeout", "10s", *queue], path)

    @staticmethod
    def text(number):
        return f"{number}\n" * TEXT_LINES

    def run_openurl(self, options, *arguments):
        program = f"{self.programs}/openurl"
        arguments = [program, *options, *arguments]
        environment = self.environment
        if self.number % 4 == 0:
            # This caller sees no socket of the router, and uses the bus.
            environment = {name: value for name, value in environment.items() if name != "XDG_RUNTIME_DIR"}
        pid = os.posix_spawn(program, arguments, environment, file_actions=[self.log], setsigmask=[])
        self.calls[pid] = (self.number, time.monotonic())

    def collect(self):
        """Records every child that has ended. A process that has lost its parent is a child of this program."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.bus:
                self.bus = None
            if pid in self.calls:
                number, start = self.calls.pop(pid)
                self.longest = max(self.longest, time.monotonic() - start)
                self.results[number] = os.waitstatus_to_exitcode(status)
                if self.results[number] == 69:
                    self.pause = time.monotonic() + 0.05

    def run(self, seconds, is_done=lambda: False):
        """Opens URLs until the time is over or until `is_done` returns true.

        Returns whether `is_done` returned true.
        """
        end = time.monotonic() + seconds
        while True:
            self.collect()
            if is_done():
                return True
            now = time.monotonic()
            for pid, (number, start) in self.calls.items():
                if now - start > CALL_LIMIT:
                    self.problems.append(f"call {number} did not end")
                    os.kill(pid, signal.SIGKILL)
            while not self.is_stopping and len(self.calls) < CALLERS and now >= self.pause:
                random.choices([self.open_url, self.send_file], [3, 1])[0](random.choice(HANDLERS))
            if now >= end:
                return False
            signal.sigtimedwait([signal.SIGCHLD], min(end - now, 0.05))

    # Kills

    def kill(self, process, number=signal.SIGKILL):
        """Sends a signal to a process if the process still exists and is still a descendant of this program."""
        try:
            descriptor = os.pidfd_open(process[0])
        except ProcessLookupError:
            return False
        try:
            if process not in descendants():
                return False
            signal.pidfd_send_signal(descriptor, number)
            return True
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)

    def kill_one(self, kind):
        running = processes_of(PROGRAMS[kind])
        if running and self.kill(random.choice(running)):
            self.killed[kind] += 1

    def kill_sender(self):
        if self.calls:
            os.kill(random.choice(list(self.calls)), signal.SIGKILL)
            self.killed["sender"] += 1

    def end_one(self):
        """Asks a handler to end, as the session does at its end."""
        running = processes_of(PROGRAMS["handler"])
        if running and self.kill(random.choice(running), signal.SIGTERM):
            self.killed["asked to end"] += 1

    def make_sick(self):
        """Makes the next call of a method hang in one handler, or its next background task endless."""
        fault = random.choice(FAULTS)
        with open(f"{self.root}/fault", "w") as file:
            file.write(fault)
        os.rename(f"{self.root}/fault", f"{self.root}/{random.choice(HANDLERS)}.log.fault")

    def start_by_hand(self):
        """Starts a handler as a person does. The process ends at once if another process has the name."""
        id = random.choice(HANDLERS)
        program = f"{self.programs}/testhandler"
        arguments = [program, id, f"{self.root}/{id}.log", "faults", "task-url"]
        os.posix_spawn(program, arguments, self.environment, file_actions=[self.log], setsigmask=[])
        self.killed["started by hand"] += 1

    def kill_bus(self):
        """Kills the bus, starts another bus, and checks that every process of the first bus ends."""
        old = {process for process, facts in descendants().items() if process[0] not in self.calls}
        if self.bus is None:
            self.problems.append("the bus had ended by itself")
        else:
            os.kill(self.bus, signal.SIGKILL)
            self.killed["bus"] += 1
        self.run(END_LIMIT, lambda: self.bus is None)
        if not self.is_stopping:
            self.start_bus()
        if not self.run(END_LIMIT, lambda: not old & set(descendants())):
            for process, facts in descendants().items():
                if process in old:
                    self.problems.append(f"{facts[0]} {process[0]} outlives its bus, state {facts[1]}")
                    self.kill(process)

    def check_zombies(self):
        def zombies():
            return {process for process, facts in descendants().items() if facts[1] == "Z" and facts[2] != os.getpid()}

        first = zombies()
        if not self.run(5, lambda: not first & zombies()):
            self.problems.append(f"zombies: {first & zombies()}")

    def kill_at_random(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.run(random.uniform(0.05, 1.5))
            kind = random.choices(["handler", "router", "bus", "end", "fault", "hand", "sender"], [10, 4, 1, 4, 12, 3, 4])[0]
            if kind in ("router", "bus"):
                self.check_zombies()
            match kind:
                case "bus":
                    self.kill_bus()
                case "sender":
                    self.kill_sender()
                case "end":
                    self.end_one()
                case "fault":
                    self.make_sick()
                case "hand":
                    self.start_by_hand()
                case _:
                    self.kill_one(kind)

    # The end

    def recover(self):
        """Checks that a new router finds the running handlers, and that every handler opens a URL."""
        self.is_stopping = True
        for handler in HANDLERS:
            if os.path.exists(f"{self.root}/{handler}.log.fault"):
                os.unlink(f"{self.root}/{handler}.log.fault")
        self.run(CALL_LIMIT + 5, lambda: not self.calls)
        routers = set(processes_of(PROGRAMS["router"]))
        for router in routers:
            self.kill(router)
        # Wait for the complete end of the router: until then its sockets exist, and messages to them are lost.
        self.run(END_LIMIT, lambda: not routers & set(descendants()))
        for handler in HANDLERS:
            hangs = self.faults(handler).keys() & {str(pid) for pid, _ in processes_of(PROGRAMS["handler"])}
            status = self.open_and_wait(handler)
            # The new router only finds out with this URL that the process hangs, and ends it.
            if hangs and status in (5, 6):
                status = self.open_and_wait(handler)
            if status != 0:
                self.problems.append(f"{handler} did not recover: status {status}")

        self.drain()
        if not self.run(END_LIMIT, lambda: len(processes_of(PROGRAMS["handler"])) <= len(HANDLERS)):
            self.problems.append(f"more processes than handlers: {processes_of(PROGRAMS['handler'])}")
        self.check_zombies()
        self.kill_bus()
        if descendants():
            self.problems.append(f"left over: {descendants()}")

    def open_and_wait(self, handler):
        """Opens a URL, and returns the exit status of `openurl`."""
        number = self.open_url(handler)
        self.run(CALL_LIMIT + 5, lambda: not self.calls)
        return self.results.get(number)

    def drain(self):
        """Waits until the queue holds only URLs that it reports as failed."""
        end = time.monotonic() + DRAIN_LIMIT
        while True:
            read, write = os.pipe()
            actions = [(os.POSIX_SPAWN_DUP2, write, 1), self.log]
            arguments = [f"{self.programs}/openurl", "queue", "--json"]
            pid = os.posix_spawn(arguments[0], arguments, self.environment, file_actions=actions, setsigmask=[])
            os.close(write)
            with os.fdopen(read) as output:
                entries = [json.loads(line) for line in output]
            os.waitpid(pid, 0)
            if all(entry["state"] == "dead" for entry in entries):
                break
            if time.monotonic() > end:
                self.problems.append(f"the queue does not get empty: {entries[:3]}")
                break
            self.run(0.5)
        for entry in entries:
            if match := re.search(r"/(\d+)\.\w+$", entry["url"]):
                self.reported[int(match[1])] = entry["message"]

    def handler_log(self, handler):
        path = f"{self.root}/{handler}.log"
        if not os.path.exists(path):
            return ""
        with open(path) as file:
            return file.read()

    def faults(self, handler):
        """Returns the fault of each process of the handler that has become sick, by process ID."""
        return dict(re.findall(r"^sick (\d+) (\w+)$", self.handler_log(handler), re.M))

    def check_inboxes(self):
        """Checks that every file in an inbox is whole."""
        for handler in HANDLERS:
            inbox = f"{self.root}/data/{handler}/Inbox"
            for name in os.listdir(inbox) if os.path.isdir(inbox) else []:
                number, _, extension = name.partition(".")
                with open(f"{inbox}/{name}", errors="replace") as file:
                    if extension != scheme(handler) or file.read() != self.text(number):
                        self.problems.append(f"{inbox}/{name} is not the file that was sent")

    def account(self):
        self.check_inboxes()
        seen, self.sick = Counter(), {}
        for handler in HANDLERS:
            text = self.handler_log(handler)
            seen.update(int(number) for number in re.findall(r"^open (?:\w+:|file:///.*/)(\d+)(?:\.\w+)?$", text, re.M))
            self.sick |= self.faults(handler)
        for number in range(1, self.number + 1):
            status, times = self.results.get(number), seen[number]
            if number in self.queued:
                # A URL in the queue may arrive twice after a crash.
                if status == 0 and not times and number not in self.reported or status not in (*TIMES, 0):
                    self.problems.append(f"the queued file {number} ended with {status}, and did not arrive")
            elif times not in TIMES.get(status, {}):
                self.problems.append(f"call {number} ended with {status} and was handled {times} times")
        with open(f"{self.root}/log", errors="replace") as file:
            self.killed_by_router = re.findall(r"\bpid=(\d+)\b.*\bkilled$", file.read(), re.M)
        for pid in self.killed_by_router:
            if pid not in self.sick:
                self.problems.append(f"the router killed {pid}, which was healthy")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    random.seed(seed)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        sys.exit(f"no subreaper: {os.strerror(ctypes.get_errno())}")
    root = tempfile.mkdtemp(prefix="openurl-chaos-")
    chaos = Chaos(sys.argv[1], root)
    chaos.kill_at_random(float(sys.argv[2]))
    chaos.recover()
    chaos.account()

    statuses = ", ".join(f"{status}: {count}" for status, count in sorted(Counter(chaos.results.values()).items()))
    print(f"seed {seed}; killed: " + ", ".join(f"{kind} {count}" for kind, count in sorted(chaos.killed.items())))
    faults = ", ".join(f"{fault} {count}" for fault, count in sorted(Counter(chaos.sick.values()).items()))
    print(f"sick: {faults}")
    print(f"killed by the router: {len(chaos.killed_by_router)}, of them healthy: "
          f"{sum(pid not in chaos.sick for pid in chaos.killed_by_router)}")
    print(f"{len(chaos.files)} files, {len(chaos.queued)} of them queued, {len(chaos.reported)} reported by the queue")
    print(f"{chaos.number} calls, by exit status {statuses}; the longest took {chaos.longest:.1f} s")
    if chaos.problems:
        print("\n".join(chaos.problems[:20]) + f"\nthe handlers' and the router's logs are in {root}")
        sys.exit(1)
    print("every one is accounted for")
    shutil.rmtree(root)


main()
