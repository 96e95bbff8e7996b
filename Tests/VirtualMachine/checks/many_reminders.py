"""Ten thousand reminders through a change to summer time, jumps of the clock both ways, changes of the zone, and ends of the router.

Every time that the clock or the zone has been set, exactly the reminders whose times have come must have been shown, each once.
"""

import datetime
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import zoneinfo
from collections import Counter

import dbus
import dbus.bus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

from machine import expect, run

COUNT = 10_000
ROUTER, PATH = "org.openurl.Router1", "/org/openurl/Router1"
BERLIN, YORK = "Europe/Berlin", "America/New_York"
DAY = datetime.datetime(2027, 3, 28)  # In Berlin, the hour from two to three does not exist.
MANIFEST = """<plist version="1.0"><dict>
<key>CFBundleIdentifier</key><string>com.example.many</string>
<key>CFBundleExecutable</key><string>/bin/true</string>
<key>CFBundleURLTypes</key><array><dict><key>CFBundleURLSchemes</key><array><string>many</string></array></dict></array>
</dict></plist>"""


class Desktop(dbus.service.Object):
    """Counts how often each reminder is shown."""

    INTERFACE = "org.freedesktop.Notifications"

    def __init__(self, bus):
        super().__init__(bus, "/org/freedesktop/Notifications")
        self.shown, self.last = Counter(), 0

    @dbus.service.method(INTERFACE, out_signature="as")
    def GetCapabilities(self):
        return ["body"]

    @dbus.service.method(INTERFACE, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, program, replaced, icon, title, text, actions, hints, timeout):
        self.shown[int(text.split()[0])] += 1
        self.last += 1
        return self.last

    @dbus.service.method(INTERFACE, in_signature="u")
    def CloseNotification(self, id):
        pass


class Reminders:
    def __init__(self, root):
        self.context = GLib.MainContext.default()
        environment = {"PATH": "/usr/bin:/bin", "HOME": root, "XDG_DATA_DIRS": "/usr/share", "XDG_RUNTIME_DIR": root,
                       "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/none"}
        os.makedirs(f"{root}/.local/share/openurl/handlers")
        with open(f"{root}/.local/share/openurl/handlers/com.example.many.plist", "w") as file:
            file.write(MANIFEST)
        self.daemon = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1"], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.bus = dbus.bus.BusConnection(self.daemon.stdout.readline().strip())
        self.bus.set_exit_on_disconnect(False)
        self.bus.request_name("org.freedesktop.Notifications")
        self.desktop = Desktop(self.bus)
        self.times, self.numbers, self.calls, self.failures = {}, {}, 0, []
        # The zone and the time at the end of the last check.
        self.before = (BERLIN, 0)

    def run(self, condition, what, seconds=600):
        end = time.monotonic() + seconds
        tick = GLib.timeout_add(100, lambda: True)
        while not condition():
            expect(time.monotonic() < end and not self.failures, f"{what}: {self.failures[:1]}")
            self.context.iteration(True)
        GLib.source_remove(tick)

    def call(self, interface, method, signature, *arguments, done=lambda *_: None):
        def answered(*values):
            self.calls -= 1
            done(*values)

        self.run(lambda: self.calls < 32, f"{method} is answered")
        self.calls += 1
        self.bus.call_async(ROUTER, PATH, f"org.openurl.{interface}", method, signature, arguments, answered,
                            self.failures.append, timeout=120)

    def schedule(self):
        for number in range(COUNT):
            at = DAY + datetime.timedelta(seconds=random.randrange(6 * 3600))
            self.times[number] = at
            self.call("Router1", "OpenURL", "sa{sv}", f"many:{number}", {"at": at.isoformat(), "notify": f"{number}"},
                      done=lambda result, number=number: self.numbers.update({number: str(result["id"])}))
        self.run(lambda: not self.calls, "all are scheduled")
        for number in random.sample(range(COUNT), COUNT // 10):
            self.call("Queue1", "Drop", "s", self.numbers[number])
            del self.times[number]
        self.run(lambda: not self.calls, "a tenth is removed")
        self.instants = {zone: {at: instant(at, zone) for at in set(self.times.values())} for zone in [BERLIN, YORK]}

    def kill_router(self):
        daemon = self.bus.get_object("org.freedesktop.DBus", "/org/freedesktop/DBus", introspect=False)
        os.kill(daemon.GetConnectionUnixProcessID(ROUTER, dbus_interface="org.freedesktop.DBus"), signal.SIGKILL)
        self.run(lambda: not self.bus.name_has_owner(ROUTER), "the router has ended")
        self.call("Lifecycle1", "List", "")
        self.run(lambda: not self.calls, "the next router answers")

    def check(self, zone):
        """Waits until the reminders that are due have been shown, and checks that no other one has."""
        earlier = set(self.desktop.shown)

        def due(zone, moment):
            return {number for number, at in self.times.items() if self.instants[zone][at] <= moment}

        expected, begin = earlier | due(zone, time.time()), time.monotonic()
        self.run(lambda: len(self.desktop.shown) >= len(expected) and expected <= self.desktop.shown.keys(),
                 f"{len(expected)} are shown")
        seconds = time.monotonic() - begin
        # The wrong ones would come with the right ones.
        end = time.monotonic() + 1
        self.run(lambda: time.monotonic() > end, "a second passes")
        # What became due just before the last change may be shown after it.
        wrong = set(self.desktop.shown) - earlier - due(zone, time.time()) - due(*self.before)
        often = [number for number, count in self.desktop.shown.items() if count > 1]
        expect(not wrong and not often, f"{len(wrong)} too early, {len(often)} more than once")
        self.before = (zone, time.time() + 1)
        return f"{len(self.desktop.shown) - len(earlier)} more were shown in {seconds:.1f} s"


def instant(at, zone):
    """When the clock shows a time; for a time that it skips, the end of the gap."""
    rules = zoneinfo.ZoneInfo(zone)
    moment = at.replace(tzinfo=rules).timestamp()
    is_skipped = datetime.datetime.fromtimestamp(moment, rules).replace(tzinfo=None) != at
    return instant(DAY + datetime.timedelta(hours=3), zone) if is_skipped else moment


def clock(text, zone):
    time.clock_settime(time.CLOCK_REALTIME, instant(datetime.datetime.fromisoformat(text), zone))


def run_all(check):
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    root = tempfile.mkdtemp()
    run("timedatectl", "set-timezone", BERLIN, check=True)
    clock("2027-03-27T12:00:00", BERLIN)
    reminders = Reminders(root)

    @check("10,000 reminders are scheduled, and a tenth is removed", seconds=600)
    def _():
        reminders.schedule()
        return reminders.check(BERLIN)

    def stage(name, text, zone=BERLIN, kill=False):
        @check(f"10,000 reminders, {name}", seconds=600)
        def _():
            if kill:
                reminders.kill_router()
            run("timedatectl", "set-timezone", zone, check=True)
            clock(text, BERLIN)
            return reminders.check(zone)

    stage("half past one", "2027-03-28T01:30:00")
    stage("the clock a day back", "2027-03-27T01:30:00")
    stage("half past three in summer, after the router was killed", "2027-03-28T03:30:00", kill=True)
    stage("five o'clock, but in New York", "2027-03-28T05:00:00", zone=YORK)
    stage("five o'clock in Berlin", "2027-03-28T05:00:00")
    stage("seven o'clock, after the router was killed", "2027-03-28T07:00:00", kill=True)

    @check("10,000 reminders, at the end")
    def _():
        shown = set(reminders.desktop.shown)
        expect(shown == set(reminders.times), "a removed one was shown, or one is missing")
        return f"{len(shown)} were shown, each once"

    reminders.daemon.kill()
    run("timedatectl", "set-timezone", "UTC")
    shutil.rmtree(root, ignore_errors=True)
