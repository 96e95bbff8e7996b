"""What the checks use: results, login sessions, handlers, and the files of processes."""

import json
import os
import pathlib
import plistlib
import pwd
import signal
import subprocess
import time

ROUTER = "org.openurl.Router1"
# An empty dictionary for gdbus, which knows the types of arguments only if the called program answers within three seconds.
NO_DATA = "@a{sv} {}"
BUS_DAEMON = ["org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"]


class Failed(Exception):
    """A check did not see what it expects. The text says what the check saw."""


class Checks:
    """Runs functions as checks, and prints one line for each."""

    def __init__(self, prefix):
        self.prefix = prefix

    def __call__(self, name, seconds=90):
        """Runs the decorated function at once. The function returns what it saw, or raises `Failed`."""

        def run(function):
            def too_late(*_):
                raise Failed(f"no end after {seconds} s")

            signal.signal(signal.SIGALRM, too_late)
            signal.alarm(seconds)
            try:
                result, seen = "ok  ", function()
            except Exception as error:
                result, seen = "FAIL", error if isinstance(error, Failed) else repr(error)
            finally:
                signal.alarm(0)
            seen = " | ".join(str(seen).split("\n"))
            print(f"{result} {self.prefix}: {name}: {seen}", flush=True)
            return function

        return run


def expect(condition, seen):
    if not condition:
        raise Failed(seen)


def run(*command, timeout=80, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)


def wait_for(condition, what, seconds=30):
    """Waits until the condition is true, and returns its value."""
    end = time.monotonic() + seconds
    while True:
        if value := condition():
            return value
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(0.1)


class Session:
    """A user's login session, and commands as that user."""

    def __init__(self, user):
        self.user = user
        self.entry = pwd.getpwnam(user)
        self.home = pathlib.Path(self.entry.pw_dir)
        self.runtime = pathlib.Path(f"/run/user/{self.entry.pw_uid}")
        self.manager = f"user@{self.entry.pw_uid}.service"
        self.environment = {
            "HOME": self.entry.pw_dir,
            "USER": user,
            "LOGNAME": user,
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "XDG_RUNTIME_DIR": str(self.runtime),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.runtime}/bus",
        }

    @classmethod
    def of_new_user(cls, user):
        """Creates a user, and logs the user in."""
        run("useradd", "--create-home", "--shell", "/bin/bash", user, check=True)
        session = cls(user)
        session.log_in()
        return session

    def log_in(self):
        run("systemd-run", "--quiet", f"--unit=login-{self.user}", "-p", "PAMName=login", "-p", f"User={self.user}",
            # Without a terminal, it would be a session in the background, which has no screen.
            "-p", "Environment=XDG_SESSION_CLASS=user",
            "sleep", "infinity", check=True)
        wait_for(lambda: run("systemctl", "is-active", self.manager).stdout == "active\n", "the user's manager runs")

    def log_out(self):
        run("systemctl", "stop", f"login-{self.user}", check=True)
        wait_for(lambda: run("systemctl", "is-active", self.manager).stdout != "deactivating\n" and not self.processes(),
                 "the session has ended")

    def processes(self):
        return run("pgrep", "-u", self.user).stdout.split()

    def _command(self, command, environment):
        variables = [f"{name}={value}" for name, value in (self.environment | environment).items()]
        user = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups"]
        return [*user, "env", "-i", "-C", self.entry.pw_dir, *variables, *command]

    def run(self, *command, **environment):
        return run(*self._command(command, environment))

    def start(self, *command, **environment):
        return subprocess.Popen(self._command(command, environment), text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for each in [path, *path.parents]:
            if each.is_relative_to(self.home):
                os.chown(each, self.entry.pw_uid, self.entry.pw_gid)

    # The router.

    def open(self, url, *options, **environment):
        """Opens a URL, and returns the result."""
        answer = self.run("openurl", "--json", *options, url, **environment)
        expect(answer.returncode == 0, f"openurl {url}: status {answer.returncode}, {answer.stdout}{answer.stderr}")
        return json.loads(answer.stdout)

    def property(self, unit, name):
        return self.run("systemctl", "--user", "show", "--value", f"--property={name}", unit).stdout.strip()

    def owner(self, name):
        """The process that owns a name on the bus; 0 without one."""
        answer = self.run("busctl", "--user", "call", *BUS_DAEMON, "GetConnectionUnixProcessID", "s", name)
        return int(answer.stdout.split()[1]) if answer.returncode == 0 else 0

    def router(self):
        """The process of the router, which the unit and the bus know as the same."""
        pid = wait_for(lambda: self.owner(ROUTER), "the router owns its name")
        main = self.property("openurld.service", "MainPID")
        expect(main == str(pid), f"the bus says {pid}, the unit {main}")
        return pid

    def stop_router(self):
        self.run("systemctl", "--user", "stop", "openurld.service")
        wait_for(lambda: self.owner(ROUTER) == 0, "the router has exited")

    def journal(self, *options, boot=0):
        """The entries of the user's processes in the journal of a boot."""
        run("journalctl", "--sync")
        matches = [f"--boot={boot}", f"_UID={self.entry.pw_uid}"]
        lines = run("journalctl", "--output=json", *options, *matches).stdout.splitlines()
        return [json.loads(line) for line in lines]

    # Handlers.

    def register(self, scheme, *arguments, program="/usr/lib/openurl-checks/testhandler", **keys):
        """Registers a handler for a scheme, and returns its identifier."""
        id = f"com.example.{scheme}"
        log = [str(self.log(id))] if program.endswith("testhandler") else []
        manifest = {
            "CFBundleIdentifier": id,
            "CFBundleExecutable": program,
            "CFBundleURLTypes": [{"CFBundleURLName": id, "CFBundleURLSchemes": [scheme]}],
            "OUArguments": [id, *log, *arguments],
            # The emulation is slow on a busy system.
            "OULaunchTimeout": 40,
            "OUTransitionTimeout": 40,
            **keys,
        }
        path = self.home / "manifests" / f"{id}.plist"
        self.write(path, plistlib.dumps(manifest).decode())
        answer = self.run("openurl", "register", str(path))
        expect(answer.returncode == 0, f"openurl register: {answer.stdout}{answer.stderr}")
        return id

    def log(self, id):
        """The file in which a test handler tells its events."""
        return self.home / f"{id}.log"

    def events(self, id):
        return self.log(id).read_text().splitlines() if self.log(id).exists() else []

    def handler(self, id):
        """The state of a handler as the router knows it; None if the router does not know the handler."""
        lines = self.run("openurl", "status", "--json").stdout.splitlines()
        return next((handler for line in lines if (handler := json.loads(line))["id"] == id), None)

    def queue(self):
        return [json.loads(line) for line in self.run("openurl", "queue", "--json").stdout.splitlines()]


# Processes.

def environment(pid):
    entries = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


def status(pid, key):
    """A line of /proc/PID/status; None if the process is gone."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(f"{key}:")), None)


def cgroup(pid):
    return pathlib.Path(f"/proc/{pid}/cgroup").read_text().strip().split("::", 1)[1]


def service(pid):
    """The service of a process that the router has started."""
    name = cgroup(pid).rsplit("/", 1)[1]
    expect(name.startswith("app-openurl-") and name.endswith(".service"), cgroup(pid))
    return name
