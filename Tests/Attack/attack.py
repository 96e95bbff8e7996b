"""Declares attacks, and gives each one a session with a victim."""

import dataclasses, itertools, json, os, plistlib, resource, select, subprocess, sys, time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.append(f"{HERE}/../Interop")

from bus import BUS, ROUTER, Bus, BusError, NoAnswer
from processes import descendants, reap
from session import Session, Skip, TimeLimit, wait_until

REGISTRY, LIFECYCLE, QUEUE = "org.openurl.Registry1", "org.openurl.Lifecycle1", "org.openurl.Queue1"
VICTIM, SCHEME = "com.example.victim", "victim"
SECRET = "code-4711"
PYTHON = "/usr/bin/python3"


@dataclasses.dataclass
class Attack:
    """One attack: a function that takes a session, and returns whether there was harm, with a few words of fact."""

    kind: str
    name: str
    run: callable
    limit: int
    is_alone: bool


ATTACKS = []


def attack(kind, name, limit=30, alone=False):
    """Declares an attack.

    - kind: the class of the attack.
    - name: the words that finish "An attacker ...".
    - limit: seconds after which the attack counts as broken.
    - alone: whether no other attack may run at the same time, because times or amounts are measured.
    """

    def declare(function):
        ATTACKS.append(Attack(kind, name, function, limit, alone))
        return function

    return declare


def short(text, limit=100):
    """Returns a text for one line."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text).replace("\n", " / "))
    return text if len(text) <= limit else text[:limit - 1] + "…"


def is_alive(pid):
    """Returns whether a process runs, and is no zombie."""
    reap()
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def state(pid):
    with open(f"/proc/{pid}/stat", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path, errors="replace") as file:
        return file.read().splitlines()


class Handler:
    """A registered handler of the tests. It writes each event to its log."""

    def __init__(self, session, id, scheme, log):
        self.session, self.id, self.scheme, self.log = session, id, scheme, log

    def events(self):
        return lines(self.log)

    def urls(self):
        return [line.partition(" ")[2] for line in self.events() if line.startswith("open ")]

    def pids(self):
        """The processes that have started, the first one first."""
        return [int(line.split()[1]) for line in self.events() if line.startswith("start ")]

    @property
    def pid(self):
        return self.pids()[-1]

    def open(self, rest="?warm", *options):
        """Opens a URL with `openurl`, and returns the run."""
        return self.session.run("openurl", *options, f"{self.scheme}:{rest}", limit=25)

    def start(self):
        run = self.open()
        if run.status != 0:
            raise RuntimeError(f"the handler does not start: {run} {run.errors}")
        return self

    def suspend(self):
        run = self.session.run("openurl", "suspend", self.id)
        if run.status != 0 or not wait_until(lambda: state(self.pid) == "T"):
            raise RuntimeError(f"openurl suspend: {run}")
        return self


class Target(Session):
    """A session with a router, and helpers for attacks."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.environment["PATH"] = f"{self.prefix}/bin:/usr/local/bin:/usr/bin:/bin"
        self.numbers = itertools.count()
        os.mkdir(f"{self.root}/shared")
        self.bus = None

    def begin(self):
        """Starts the bus, and connects to it. The bus starts the router at the first call."""
        self.start_bus()
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = self.environment["DBUS_SESSION_BUS_ADDRESS"]
        self.bus = Bus()
        return self.bus

    def start_router(self, environment={}, descriptors=None, **options):
        """Starts a router without the bus, and waits until the router has its name.

        - descriptors: the soft limit of descriptors; sessions have 1,024 in most distributions.
        """
        def limit():
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors or hard, hard))

        process = self.start("openurld", environment=environment, preexec_fn=limit, **options)
        if not wait_until(lambda: self.owner(ROUTER) == process.pid):
            raise RuntimeError("the router does not start")
        return process

    def owner(self, name):
        """Returns the process that owns a name, or nothing."""
        try:
            return self.bus.call_bus("GetConnectionUnixProcessID", "s", name)[0]
        except BusError:
            return None

    @property
    def router(self):
        """The router's process."""
        if not self.owner(ROUTER):
            self.bus.call("org.freedesktop.DBus.Peer", "Ping")
        return self.owner(ROUTER)

    def log_text(self):
        with open(self.log.name, errors="replace") as file:
            return file.read()

    # Handlers

    def manifest(self, id, scheme, program, arguments=(), directory=None, **keys):
        """Writes a manifest, and returns its path. `keys` are further keys; `hosts` limits the claim."""
        claim = {"CFBundleURLSchemes": [scheme] if isinstance(scheme, str) else scheme}
        if hosts := keys.pop("hosts", None):
            claim["OUHosts"] = hosts
        content = {"CFBundleIdentifier": id, "CFBundleName": id.rpartition(".")[2], "CFBundleExecutable": program,
                   "OUArguments": list(arguments), "CFBundleURLTypes": [claim], **keys}
        directory = directory or f"{self.root}/manifests-{next(self.numbers)}"
        os.makedirs(directory, exist_ok=True)
        path = f"{directory}/{id}.plist"
        # The text form has no control characters.
        form = plistlib.FMT_XML if str(content).isprintable() and "\\x" not in repr(content) else plistlib.FMT_BINARY
        with open(path, "wb") as file:
            plistlib.dump(content, file, fmt=form)
        return path

    def register_path(self, path, *options):
        return self.run("openurl", "register", *options, path)

    def swift(self, id=VICTIM, scheme=SCHEME, *behaviour, program=None, **keys):
        """Registers the handler of the tests, which is written with the Swift library."""
        log = f"{self.root}/{id}.log"
        path = self.manifest(id, scheme, program or f"{self.programs}/testhandler", [id, log, *behaviour], **keys)
        return self.registered(path, Handler(self, id, scheme, log))

    def python(self, id=VICTIM, scheme=SCHEME, *behaviour, program=f"{HERE}/handler.py", **keys):
        """Registers the handler in Python, which notes the context of each URL too."""
        log = f"{self.root}/{id}.log"
        path = self.manifest(id, scheme, program, [id, log, *behaviour], **keys)
        return self.registered(path, Handler(self, id, scheme, log))

    def registered(self, path, handler):
        run = self.register_path(path)
        if run.status != 0 and "--replace" in run.errors:
            run = self.register_path(path, "--replace")
        if run.status != 0:
            raise RuntimeError(f"openurl register: {run}")
        handler.manifest, handler.warnings = path, run.errors
        return handler

    def squatter(self, id, *behaviour, flags=4, environment={}):
        """Starts a program that takes a name without being started for it."""
        log = f"{self.root}/squatter-{next(self.numbers)}.log"
        process = self.start(PYTHON, f"{HERE}/squatter.py", id, log, f"flags={flags}", *behaviour, environment=environment)
        if not wait_until(lambda: any(line.startswith("name ") for line in lines(log))):
            raise RuntimeError("the squatter does not start")
        result = Handler(self, id, None, log)
        result.process = process
        result.answer = int(next(line for line in lines(log) if line.startswith("name ")).split()[1])
        return result

    # Callers

    def client(self, *command, environment={}, **options):
        """Starts a caller, in a sandbox for example: a command that runs its arguments."""
        return Client(self.start(*command, PYTHON, "-B", f"{HERE}/client.py", environment=environment,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options))

    def other_program(self):
        """Returns a command that runs Python as a program with a file of its own, and variables for it."""
        path = f"{self.root}/program-{next(self.numbers)}"
        subprocess.run(["cp", os.path.realpath(PYTHON), path], check=True)
        return path, {"PYTHONHOME": "/usr"}

    def polite(self):
        """Starts a caller whose program is not that of the attackers."""
        path, environment = self.other_program()
        return Client(self.start(path, "-B", f"{HERE}/client.py", environment=environment,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE))

    def cost(self):
        """Returns what the router holds: memory in KiB, descriptors without those of the log, rules of the bus, and processes."""
        pid = self.router
        with open(f"/proc/{pid}/statm") as file:
            memory = int(file.read().split()[1]) * 4
        try:
            rules = self.bus.call("org.freedesktop.DBus.Debug.Stats", "GetConnectionStats", "s", [ROUTER], BUS,
                                  "/org/freedesktop/DBus")[0].get("MatchRules", 0)
        except BusError:
            rules = 0
        return {"memory": memory, "descriptors": self.descriptors(pid), "rules": rules,
                "processes": len(descendants(pid))}

    def descriptors(self, pid):
        """Returns the number of descriptors, without those of the log, which the router opens with the first request."""
        count = 0
        for number in os.listdir(f"/proc/{pid}/fd"):
            try:
                count += not os.readlink(f"/proc/{pid}/fd/{number}").startswith(f"{self.root}/state/openurl/log.sqlite")
            except FileNotFoundError:
                pass
        return count

    def status(self, id=VICTIM):
        """Returns what the router says of a handler."""
        return next((entry for entry in self.bus.call(LIFECYCLE, "List")[0] if entry["id"] == id), {})


class Client:
    """A caller in a process of its own."""

    def __init__(self, process):
        self.process = process

    def ask(self, wait=25, **request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return self.read(wait)

    def read(self, wait=25):
        ready, _, _ = select.select([self.process.stdout], [], [], wait)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            return {"none": "the caller does not answer"}
        return json.loads(line)

    def call(self, interface, member, signature="", *body, **options):
        return self.ask(do="call", interface=interface, member=member, signature=signature, body=body, **options)

    def open(self, url, options={}, **rest):
        return self.call(ROUTER, "OpenURL", "sa{sv}", url, options, **rest)


def said(answer):
    """Returns the words for an answer of `Client`: `answered`, or the error."""
    if "error" in answer:
        return answer["error"].rpartition(".")[2]
    return "answered" if "ok" in answer else answer["none"]


def attempt(call):
    """Calls a function. Returns the words for its outcome: `answered`, or the error."""
    try:
        call()
        return "answered"
    except BusError as error:
        return error.short
    except NoAnswer as error:
        return str(error)
