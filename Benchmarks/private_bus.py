"""A bus of its own, on which openurl's router runs, for programs that kill the router and account for every message."""

import os, signal, subprocess, sys, time
import dbus, dbus.bus
from gi.repository import GLib

ROUTER, PATH = "org.openurl.Router1", "/org/openurl/Router1"
LIMIT = 600  # seconds


class PrivateBus:
    """Starts a bus that starts the router of a directory of programs.

    All files are in the directory `root`. `manifests` has the handlers' manifests by their identifiers, and `variables` more
    environment variables.
    """

    def __init__(self, programs, root, manifests, variables={}):
        self.root, self.context = root, GLib.MainContext.default()
        environment = {"PATH": os.environ["PATH"], "HOME": root, "XDG_DATA_DIRS": f"{root}/none", "XDG_RUNTIME_DIR": f"{root}/run"}
        environment |= {f"XDG_{part}_HOME": f"{root}/{part.lower()}" for part in ["DATA", "CONFIG", "CACHE", "STATE"]}
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={root}/no-system-bus"
        environment |= variables
        for folder in ["data/dbus-1/services", "data/openurl/handlers"]:
            os.makedirs(f"{root}/{folder}")
        os.mkdir(f"{root}/run", 0o700)
        with open(f"{root}/data/dbus-1/services/{ROUTER}.service", "w") as file:
            file.write(f"[D-BUS Service]\nName={ROUTER}\nExec={programs}/openurld\n")
        for id, manifest in manifests.items():
            with open(f"{root}/data/openurl/handlers/{id}.plist", "w") as file:
                file.write(manifest)
        arguments = ["setpriv", "--pdeathsig", "KILL", "dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"]
        with open(f"{root}/log", "w") as log:
            self.daemon = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        self.environment = environment
        self.address = self.daemon.stdout.readline().strip()
        self.bus = dbus.bus.BusConnection(self.address)
        self.bus.set_exit_on_disconnect(False)

    def end(self):
        self.daemon.kill()
        self.daemon.wait()

    def run(self, condition):
        """Runs until a condition holds, which is checked after each event."""
        end = time.monotonic() + LIMIT
        tick = GLib.timeout_add(100, lambda: True)
        while not condition():
            if time.monotonic() > end:
                sys.exit(f"not within {LIMIT} s; the log is in {self.root}")
            self.context.iteration(True)
        GLib.source_remove(tick)

    def call(self, interface, method, signature, *arguments, done=lambda *answer: None, failed=None):
        """Calls the router. Without `failed`, an error ends the program."""

        def stop(error):
            sys.exit(f"{method}: {error}")

        self.bus.call_async(ROUTER, PATH, f"org.openurl.{interface}", method, signature, arguments, done, failed or stop, timeout=60)

    def kill_router(self):
        daemon = self.bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus", introspect=False)
        os.kill(daemon.GetConnectionUnixProcessID(ROUTER, dbus_interface="org.freedesktop.DBus"), signal.SIGKILL)
