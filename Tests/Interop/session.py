"""A private session for checks against the desktop's real programs: a bus, directories, a router, and handlers."""

import dataclasses, json, os, signal, socket, subprocess, sys, time

HERE = os.path.dirname(os.path.realpath(__file__))
SCHEME = "interop"
HANDLER = "com.example.interop"
# URLs whose escapes a caller may change on the way.
ESCAPES = {
    "plain": f"{SCHEME}:?first",
    "%20": f"{SCHEME}://host/a%20b?c%20d#e%20f",
    "UTF-8": f"{SCHEME}:?gr%C3%BC%C3%9Fe%E2%82%AC",
    "query": f"{SCHEME}://host/?a=1&b=%26&c=%25&d=%2B+",
}

MANIFEST = """<?xml version="1.0"?><plist version="1.0"><dict>
<key>CFBundleIdentifier</key><string>{id}</string>
<key>CFBundleName</key><string>{name}</string>
<key>CFBundleExecutable</key><string>{program}</string>
<key>OUArguments</key><array>{arguments}</array>
<key>CFBundleURLTypes</key><array><dict>
<key>CFBundleURLSchemes</key><array><string>{scheme}</string></array>
</dict></array>
</dict></plist>"""


class Skip(Exception):
    """The check cannot run here; the text says why."""


class TimeLimit(Exception):
    """The check has used up its time."""


@dataclasses.dataclass
class Check:
    """One check: a generator that takes a session, and yields what it looked at, what it expected, and what it saw."""

    what: str
    run: callable
    packages: list
    limit: int


CHECKS = []


def check(what, *packages, limit=60):
    """Declares a check.

    - what: the program that is checked.
    - packages: Debian's packages with the program and everything that drives it.
    - limit: seconds after which the check has failed.
    """

    def declare(function):
        CHECKS.append(Check(what, function, list(packages), limit))
        return function

    return declare


@dataclasses.dataclass
class Run:
    """A program that has ended."""

    status: int
    output: str
    errors: str

    def __str__(self):
        """Returns `status 0`, or the status with the last line that the program printed."""
        lines = (self.output + self.errors).strip().splitlines()
        return f"status {self.status}" + (f", {lines[-1]}" if self.status and lines else "")


class Session:
    """A bus, home and data directories, and an installed openurl. No program of the user's session takes part.

    - programs: the directory of the built programs.
    - prefix: the directory into which `make install` has installed openurl.
    - root: an empty directory, which the caller removes.
    """

    def __init__(self, programs, prefix, root):
        self.programs, self.prefix, self.root = programs, prefix, root
        self.environment = {
            "PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin:/usr/games",
            "HOME": root,
            "LANG": "C.UTF-8",
            "XDG_DATA_DIRS": f"{prefix}/share:/usr/local/share:/usr/share",
            "XDG_RUNTIME_DIR": f"{root}/run",
            "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={root}/no-system-bus",
            # The bridge to assistive technology would start a bus of its own.
            "NO_AT_BRIDGE": "1",
            "GTK_A11Y": "none",
            "GSETTINGS_BACKEND": "memory",
            "QT_QPA_PLATFORM": "offscreen",
        }
        os.mkdir(f"{root}/run", 0o700)
        for part in ["data", "config", "cache", "state"]:
            self.environment[f"XDG_{part.upper()}_HOME"] = f"{root}/{part}"
            os.mkdir(f"{root}/{part}")
        os.mkdir(f"{root}/data/applications")
        self.log = open(f"{root}/log", "ab")
        self.arrivals = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.arrivals.bind(f"{root}/arrivals")

    # Processes

    def start(self, *command, environment={}, **options):
        """Starts a program in the session. The runner ends the program after the check."""
        options = {"stdin": subprocess.DEVNULL, "stdout": self.log, "stderr": self.log} | options
        return subprocess.Popen(command, env=self.environment | environment, cwd=self.root, **options)

    def run(self, *command, environment={}, limit=30, **options):
        """Runs a program in the session until its end.

        Files take the output: a program's children may keep a pipe open.
        """
        with open(f"{self.root}/output", "w+b") as output, open(f"{self.root}/errors", "w+b") as errors:
            process = self.start(*command, environment=environment, stdout=output, stderr=errors, **options)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = f"none after {limit} s"
            text = []
            for file in [output, errors]:
                file.seek(0)
                text.append(file.read().decode(errors="replace"))
        self.log.write(f"{command}: {status}\n{text[0]}{text[1]}\n".encode())
        self.log.flush()
        return Run(status, *text)

    def first_line(self, *command, **options):
        """Starts a program and returns it with the first line that it prints."""
        process = self.start(*command, stdout=subprocess.PIPE, **options)
        return process, process.stdout.readline().decode().strip()

    # The bus and the display

    def start_bus(self):
        """Starts the bus that most sessions have. The bus starts the router at the first call."""
        command = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"]
        _, address = self.first_line(*command, f"--address=unix:path={self.root}/run/bus")
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = address

    def start_display(self):
        """Starts an X server without a screen."""
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1024x768x24", "-nolisten", "tcp"]
        self.start(*command, pass_fds=[write])
        os.close(write)
        with os.fdopen(read) as display:
            number = display.readline().strip()
        if not number:
            raise Skip("the X server does not start")
        self.environment["DISPLAY"] = f":{number}"
        self.environment["QT_QPA_PLATFORM"] = "xcb"

    # Handlers

    def begin(self):
        """Starts the bus, and registers the handler that tells the session of each URL."""
        self.start_bus()
        self.register()

    def register(self, id=HANDLER, scheme=SCHEME, program=f"{HERE}/handler.py", arguments=None):
        """Registers a handler; the default one tells the session of each URL. `openurl register` starts the router."""
        arguments = [id, f"{self.root}/arrivals"] if arguments is None else arguments
        text = "".join(f"<string>{argument}</string>" for argument in arguments)
        os.makedirs(f"{self.root}/manifests", exist_ok=True)
        path = f"{self.root}/manifests/{id}.plist"
        with open(path, "w") as file:
            file.write(MANIFEST.format(id=id, name=name(id), program=program, arguments=text, scheme=scheme))
        run = self.run("openurl", "register", path)
        if run.status != 0:
            raise RuntimeError(f"openurl register: {run}")

    def register_swift(self, id, scheme, program=None):
        """Registers the handler of the tests, which is written with the Swift library.

        - program: a program that runs the handler with the same arguments.

        Returns a function that returns the last URL that the handler got.
        """
        log = f"{self.root}/{id}.log"
        self.register(id, scheme, program or f"{self.programs}/testhandler", [id, log])

        def last():
            lines = open(log).read().splitlines() if os.path.exists(log) else []
            return ([line.partition(" ")[2] for line in lines if line.startswith("open ")] or ["nothing"])[-1]

        return last

    def choose(self, entry):
        """Makes a desktop entry the user's default for the scheme."""
        with open(f"{self.root}/config/mimeapps.list", "w") as file:
            file.write(f"[Default Applications]\nx-scheme-handler/{SCHEME}={entry}\n"
                       f"[Added Associations]\nx-scheme-handler/{SCHEME}={entry};\n")

    def choose_router(self):
        """Makes openurl's own entry the default for the scheme, so that GLib's programs call the router themselves."""
        run = self.run("openurl", "default", SCHEME, "org.openurl.Router1.desktop")
        if run.status != 0:
            raise RuntimeError(f"openurl default: {run}")

    def serve_portal(self):
        """Installs the router as the portal's only backend for the session. Call this before the bus starts."""
        project = f"{HERE}/../../Packaging/portal"
        name = "org.freedesktop.impl.portal.desktop.openurl.service"
        os.makedirs(f"{self.root}/data/dbus-1/services", exist_ok=True)
        os.mkdir(f"{self.root}/portals")
        with open(f"{project}/{name}.in") as source, open(f"{self.root}/data/dbus-1/services/{name}", "w") as file:
            file.write(source.read().replace("@BINDIR@", f"{self.prefix}/bin"))
        with open(f"{project}/openurl.portal") as source, open(f"{self.root}/portals/openurl.portal", "w") as file:
            file.write(source.read())
        self.environment["XDG_DESKTOP_PORTAL_DIR"] = f"{self.root}/portals"

    def arrival(self, seconds=10):
        """Waits for the next URL that a handler gets. Returns the URL with the handler's ID and the context."""
        self.arrivals.settimeout(seconds)
        try:
            return json.loads(self.arrivals.recv(1 << 20))
        except (TimeoutError, BlockingIOError):
            return {"url": "nothing", "id": "no handler", "context": {"source": {}}}

    def url(self, seconds=10):
        """Waits for the next URL that a handler gets. Returns the URL, or `nothing`."""
        return self.arrival(seconds)["url"]

    def opened(self, what, url, run):
        """Returns the line of a URL that a program has opened: the URL that the handler got, and the program's status."""
        return what, f"{url}, status 0", f"{self.url()}, {run}"

    def open_escapes(self, *command, **options):
        """Opens URLs with escapes, each with a run of the command. Returns their lines."""
        for what, url in ESCAPES.items():
            yield self.opened(what, url, self.run(*command, url, **options))

    def token(self, *command, **options):
        """Opens a URL with a run of the command. Returns the line of the startup notification's ID, which X11 uses."""
        self.run(*command, f"{SCHEME}:?token", **options)
        context = self.arrival()["context"]
        return "desktop-startup-id", "some", "some" if context.get("desktop-startup-id") else "none"

    @staticmethod
    def sender(arrival, program):
        """Returns the line of the sender: the program, or one that is marked because it passes URLs on for others."""
        source = arrival["context"]["source"]
        seen = os.path.basename(source.get("executable", "unknown"))
        expected = f"{program}, or a marked intermediary"
        return "sender", expected, expected if seen == program or source.get("intermediary") else seen

    @staticmethod
    def known_sender(arrival):
        """Returns the name of the sender's program, or `unknown` if it only passes URLs on for others."""
        source = arrival["context"]["source"]
        return "unknown" if source.get("intermediary") else os.path.basename(source.get("executable", "unknown"))


def name(id):
    """Returns the name that people see for a handler."""
    return f"Handler {id.rpartition('.')[2]}"


def wait_until(condition, seconds=15):
    """Waits for something outside of this program that sends no event. Returns the condition's last value."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value
