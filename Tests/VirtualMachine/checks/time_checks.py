"""The checks of what a machine does to its handlers: locks, sleep, and times that come, jump, and pass while it is off."""

import datetime
import json
import pathlib
import time

from machine import expect, run, wait_for

# A service that shows notifications, and writes the text of each to a file.
NOTIFICATIONS = """#!/usr/bin/python3
import pathlib, dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

class Service(dbus.service.Object):
    shown = 0

    @dbus.service.method("org.freedesktop.Notifications", out_signature="as")
    def GetCapabilities(self):
        return ["actions", "body"]

    @dbus.service.method("org.freedesktop.Notifications", in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, program, replaced, icon, title, text, actions, hints, timeout):
        self.shown += 1
        with open(pathlib.Path.home() / "notifications", "a") as file: file.write(f"{title}: {text}\\n")
        return self.shown

    @dbus.service.method("org.freedesktop.Notifications", in_signature="u")
    def CloseNotification(self, id):
        pass

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
service = Service(bus, "/org/freedesktop/Notifications")
name = dbus.service.BusName("org.freedesktop.Notifications", bus)
GLib.MainLoop().run()
"""


def run_all(check, session):
    interruptions(check, session)
    times(check, session)


def state(session, id):
    return (session.handler(id) or {}).get("state")


def interruptions(check, session):
    id = session.register("interrupted")

    def login():
        for line in run("loginctl", "list-sessions", "--no-legend").stdout.splitlines():
            if session.user in line.split(): return line.split()[0]

    @check("lock: a locked screen makes the active handler inactive, until it is unlocked")
    def _():
        session.open("interrupted:1")
        def is_inactive():
            # The router may not follow the session yet.
            run("loginctl", "lock-session", login(), check=True)
            return state(session, id) == "inactive"

        wait_for(is_inactive, f"the handler is inactive: {run('loginctl', 'session-status', login()).stdout}")
        run("loginctl", "unlock-session", login(), check=True)
        wait_for(lambda: state(session, id) == "active", "the handler is active again")
        expect(session.events(id)[-2:] == ["willResignActive", "didBecomeActive"], session.events(id))
        return session.events(id)[-2:]

    @check("sleep: the active handler saves its state before, and comes back afterwards", seconds=180)
    def _():
        alarm = run("rtcwake", "--mode=no", "--seconds=15")
        answer = run("systemctl", "suspend")
        expected = ["willResignActive", "didEnterBackground", "willEnterForeground", "didBecomeActive"]
        wait_for(lambda: session.events(id)[-4:] == expected, f"{answer.stderr}{alarm.stderr}", seconds=120)
        messages = run("journalctl", "--boot=0", "--output=cat", "--identifier=systemd-logind", "--lines=3").stdout.split("\n")
        return f"{', '.join(expected)}; logind: {messages[:-1]}"


def at(seconds):
    """A time from now, as `openurl --at` takes it."""
    return datetime.datetime.fromtimestamp(time.time() + seconds).strftime("%Y-%m-%dT%H:%M:%S")


def queue(session, url):
    return next((each for each in session.queue() if each["url"] == url), None)


def schedule(session, *arguments):
    answer = session.run("openurl", *arguments)
    expect(answer.returncode == 0, f"openurl {' '.join(arguments)}: {answer.stdout}{answer.stderr}")


def set_clock(seconds):
    """Sets the clock that many seconds forward or back."""
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)


def times(check, session):
    id = session.register("timed")

    def count(url):
        return session.events(id).count(f"open {url}")

    @check("time: a URL whose time comes in three seconds arrives then")
    def _():
        due = int(time.time()) + 3
        schedule(session, f"--at={datetime.datetime.fromtimestamp(due).isoformat()}", "timed:soon")
        wait_for(lambda: count("timed:soon"), "the URL arrives")
        late = time.time() - due
        expect(late >= 0, f"{late} s late")
        return f"seen {late:.2f} s after its time, with checks of 0.1 s"

    @check("time: a clock that is set a day forward makes a URL due, and one a day back makes none due again", seconds=180)
    def _():
        schedule(session, f"--at={at(86_000)}", "timed:tomorrow")
        schedule(session, f"--at={at(100_000)}", "timed:later")
        try:
            set_clock(86_400)
            wait_for(lambda: count("timed:tomorrow"), "the URL arrives")
        finally:
            set_clock(-86_400)
        time.sleep(2)
        seen = {url: count(url) for url in ["timed:tomorrow", "timed:later"]}
        expect(seen == {"timed:tomorrow": 1, "timed:later": 0}, seen)
        expect(queue(session, "timed:later"), "the later URL has left the queue")
        return seen

    @check("time: a wall-clock time follows the time zone")
    def _():
        schedule(session, "--at=tomorrow 9:00", "timed:nine")
        before = queue(session, "timed:nine")["next"]
        try:
            run("timedatectl", "set-timezone", "Asia/Tokyo", check=True)
            moved = wait_for(lambda: (next := queue(session, "timed:nine")["next"]) != before and next, "the time moves")
        finally:
            run("timedatectl", "set-timezone", "UTC")
        wait_for(lambda: queue(session, "timed:nine")["next"] == before, "the time moves back")
        # Nine in Tokyo is midnight in UTC, today or tomorrow.
        expect((before - moved) % 86_400 == 9 * 3600, f"{before}, then {moved}")
        return f"{before} in UTC, {moved} in Tokyo"

    @check("time: a task waits for the same time if the clock is set", seconds=120)
    def _():
        session.register("hourly", "hourly=sync")
        session.open("hourly:1")
        left = lambda: json.loads(session.run("openurl", "tasks", "--json").stdout.splitlines()[0])["next"] / 1000 - time.time()
        before = left()
        seen = []
        for jump in [86_400, -86_400]:
            set_clock(jump)
            wait_for(lambda: abs(left() - before) < 60, f"the time until the task: {before:.0f} s, then {left():.0f} s")
            seen.append(f"{left():.0f} s")
        return f"{before:.0f} s, then {seen}"

    # Later checks expect an empty queue.
    for each in session.queue():
        session.run("openurl", "queue", "drop", str(each["id"]))


def prepare_reboot(session):
    """Leaves URLs with times in the queue, and a service for notifications that starts with the session."""
    # The clock jumps, so the order of the boots in the journal is not the one in time.
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    session.write(session.home / "boot", boot.replace("-", ""))
    id = session.register("reminded")
    session.write(session.home / "show-notifications", NOTIFICATIONS)
    (session.home / "show-notifications").chmod(0o755)
    service = f"[D-BUS Service]\nName=org.freedesktop.Notifications\nExec={session.home}/show-notifications\n"
    session.write(session.home / ".local/share/dbus-1/services/notifications.service", service)
    schedule(session, f"--at={at(3600)}", "--notify=Missed", "reminded:missed")
    schedule(session, f"--at={at(3600)}", "reminded:due")
    schedule(session, f"--at={at(86_400)}", "--notify=Later", "reminded:later")
    schedule(session, f"--at={at(3600)}", "--notify=Dropped", "reminded:dropped")
    number = queue(session, "reminded:dropped")["id"]
    expect(session.run("openurl", "queue", "drop", str(number)).returncode == 0, "the URL stays in the queue")
    return id


def pass_time_while_off():
    """Makes the hour pass in which the machine was off."""
    set_clock(7200)


def run_after_reboot(check, session):
    @check("reboot: a missed reminder is shown once, a missed URL arrives once, and a later reminder waits", seconds=180)
    def _():
        file = session.home / "notifications"
        # The router starts services for notifications only in a session with a display.
        session.run("systemctl", "--user", "import-environment", "DISPLAY", DISPLAY=":7")
        wait_for(lambda: session.events("com.example.reminded").count("open reminded:due") == 1, "the URL arrives")
        wait_for(file.exists, "the reminder is shown", seconds=100)
        time.sleep(2)
        shown = file.read_text().splitlines()
        opened = session.events("com.example.reminded").count("open reminded:due")
        left = [each["url"] for each in session.queue() if each["url"].startswith("reminded:")]
        seen = f"shown {shown}, opened {opened} time, waiting {left}"
        expect(len(shown) == 1 and "Missed" in shown[0] and opened == 1 and left == ["reminded:later"], seen)
        return seen
