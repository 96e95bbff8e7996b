#!/usr/bin/python3
"""Schedules reminders and URLs, removes some of them, kills the router, and accounts for each one.

    reminders.py DIRECTORY [COUNT SECONDS KILLS]

DIRECTORY holds openurl's programs. The program starts its own bus, and the bus starts the router. It shows the notifications
itself, so it sees when each one comes.

The exit status is 0 only if each reminder came once, no removed one came, and each came within a second of its time. A reminder that
the router was showing when it was killed may come twice.
"""

import os, random, shutil, statistics, sys, tempfile, time
from collections import Counter
import dbus.mainloop.glib, dbus.service
from private_bus import ROUTER, PrivateBus

IN_FLIGHT = 32  # calls
ID = "com.example.reminded"

MANIFEST = f"""<?xml version="1.0"?><plist version="1.0"><dict>
<key>CFBundleIdentifier</key><string>{ID}</string>
<key>CFBundleExecutable</key><string>/bin/true</string>
<key>CFBundleURLTypes</key><array><dict>
<key>CFBundleURLSchemes</key><array><string>reminded</string></array>
</dict></array>
</dict></plist>"""


class Notifications(dbus.service.Object):
    """Shows nothing, but notes when each notification comes."""

    INTERFACE = "org.freedesktop.Notifications"

    def __init__(self, bus):
        super().__init__(bus, "/org/freedesktop/Notifications")
        self.shown = []

    @dbus.service.method(INTERFACE, out_signature="as")
    def GetCapabilities(self):
        return ["actions", "body"]

    @dbus.service.method(INTERFACE, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, program, replaced, icon, title, text, actions, hints, timeout):
        self.shown.append((int(text.split()[0]), time.time()))
        return len(self.shown)

    @dbus.service.method(INTERFACE, in_signature="u")
    def CloseNotification(self, id):
        pass


class Reminders(PrivateBus):
    def __init__(self, programs, root):
        super().__init__(programs, root, {ID: MANIFEST})
        self.bus.request_name("org.freedesktop.Notifications")
        self.notifications = Notifications(self.bus)
        self.times, self.queued, self.calls, self.killed = {}, {}, 0, []

    def call_in_turn(self, interface, method, signature, *arguments, done):
        """Calls the router as soon as few enough calls have no answer yet."""

        def answered(*values):
            self.calls -= 1
            done(*values)

        self.run(lambda: self.calls < IN_FLIGHT)
        self.calls += 1
        self.call(interface, method, signature, *arguments, done=answered)

    def schedule(self, number, due):
        """Schedules a reminder, whose text is its number."""
        self.times[number] = due
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(due)) + f".{round(due * 1000) % 1000:03}Z"
        options = {"at": text, "notify": f"{number}"}
        self.call_in_turn("Router1", "OpenURL", "sa{sv}", f"reminded:{number}", options,
                          done=lambda result: self.queued.update({number: str(result["id"])}))

    def drop(self, number):
        self.call_in_turn("Queue1", "Drop", "s", self.queued[number], done=lambda *answer: None)
        del self.times[number]

    def kill(self):
        """Kills the router, and starts the next one."""
        self.kill_router()
        self.killed.append(time.time())
        self.run(lambda: not self.bus.name_has_owner(ROUTER))
        self.call("Lifecycle1", "List", "", done=lambda handlers: None)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    count, seconds, kills = map(int, sys.argv[2:] or [10_000, 200, 3])
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    root = tempfile.mkdtemp(prefix="openurl-reminders-")
    reminders = Reminders(os.path.realpath(sys.argv[1]), root)
    try:
        start = time.time()
        # By then, all are scheduled.
        first = start + 10 + count / 500
        for number in range(count):
            # The times are whole milliseconds.
            reminders.schedule(number, round(first + random.random() * seconds, 3))
        reminders.run(lambda: not reminders.calls)
        scheduling = time.time() - start
        removed = random.sample(range(count), count // 10)
        for number in removed:
            reminders.drop(number)
        reminders.run(lambda: not reminders.calls)
        if time.time() > first:
            sys.exit(f"too slow: {time.time() - start:.1f} s until all were scheduled")
        for kill in range(kills):
            due = first + seconds * (kill + 1) / (kills + 1)
            reminders.run(lambda: time.time() > due)
            reminders.kill()
        shown = reminders.notifications.shown
        reminders.run(lambda: time.time() > first + seconds + 1 and len({number for number, _ in shown}) >= len(reminders.times))
    finally:
        reminders.end()

    times = Counter(number for number, _ in shown)
    lost = [number for number in reminders.times if not times[number]]
    wrong = [number for number in removed if times[number]]
    repeated = [number for number in reminders.times if times[number] > 1]
    firsts = {number: came for number, came in reversed(shown)}
    # While there is no router, nothing comes, and then it has to catch up.
    gaps = [(killed, min(came for _, came in shown if came > killed + 0.05)) for killed in reminders.killed]
    late = sorted(came - reminders.times[number] for number, came in firsts.items() if number in reminders.times
                  and not any(killed - 0.1 < reminders.times[number] < back + 1 for killed, back in gaps))
    print(f"{count} reminders scheduled in {scheduling:.1f} s, {len(removed)} of them removed; router killed {kills} times: "
          f"{len(lost)} lost, {len(wrong)} came although they were removed, {len(repeated)} came twice")
    print("from the end of a router to the next one's first reminder: "
          + ", ".join(f"{back - killed:.2f} s" for killed, back in gaps))
    print(f"after their times: median {statistics.median(late) * 1000:.1f} ms, 99 % {late[len(late) * 99 // 100] * 1000:.1f} ms, "
          f"most {late[-1] * 1000:.1f} ms; earliest {late[0] * 1000:.1f} ms")
    if lost or wrong or len(repeated) > kills * 16 or late[0] < 0 or late[-1] > 1:
        sys.exit(f"lost {lost[:9]}, wrong {wrong[:9]}, repeated {repeated[:9]}; the log is in {root}")
    shutil.rmtree(root, ignore_errors=True)


main()
