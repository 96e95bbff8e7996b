#!/usr/bin/python3
"""A logind with one session, whose machine sleeps in its imagination: logind.py ADDRESS

It has the methods and signals of org.freedesktop.login1 that concern inhibitors, sleep, shutdown and locks, and the interface
org.openurl.Test.Machine for the test: `Wake` ends the sleep or the shutdown, `Login` begins a session, `Inhibitors` lists what delays
a sleep, and the signal `Paused` says that nothing delays it any longer, and after how many milliseconds.
"""

import os, sys, time
import dbus, dbus.bus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

MANAGER, SESSION, MACHINE = "org.freedesktop.login1.Manager", "org.freedesktop.login1.Session", "org.openurl.Test.Machine"
DELAY = 5  # seconds, as InhibitDelayMaxSec has them

class Session(dbus.service.Object):
    def __init__(self, bus, path):
        super().__init__(bus, path)
        self.locked = False

    @dbus.service.signal(SESSION)
    def Lock(self):
        pass

    @dbus.service.signal(SESSION)
    def Unlock(self):
        pass

    @dbus.service.signal(dbus.PROPERTIES_IFACE, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        assert (interface, name) == (SESSION, "LockedHint")
        return dbus.Boolean(self.locked)

    @dbus.service.method(SESSION, in_signature="b")
    def SetLockedHint(self, locked):
        if locked == self.locked: return
        self.locked = locked
        self.PropertiesChanged(SESSION, {"LockedHint": dbus.Boolean(locked)}, dbus.Array([], signature="s"))

class Manager(dbus.service.Object):
    def __init__(self, bus):
        super().__init__(bus, "/org/freedesktop/login1")
        self.bus = bus
        self.inhibitors = {}  # the end of each inhibitor's pipe that closes with the other, with the arguments
        self.pause = None
        self.sessions = {}
        self.begin_session("c1")
        # The session of another user.
        self.other = Session(bus, "/org/freedesktop/login1/session/c9")

    def begin_session(self, name):
        path = "/org/freedesktop/login1/session/" + name
        self.sessions[name] = Session(self.bus, path)
        self.SessionNew(name, path)

    @dbus.service.signal(MANAGER, signature="so")
    def SessionNew(self, name, path):
        pass

    @dbus.service.signal(MANAGER, signature="so")
    def SessionRemoved(self, name, path):
        pass

    @dbus.service.signal(MANAGER, signature="b")
    def PrepareForSleep(self, start):
        pass

    @dbus.service.signal(MANAGER, signature="b")
    def PrepareForShutdown(self, start):
        pass

    @dbus.service.method(MANAGER, in_signature="s", out_signature="o")
    def GetSession(self, name):
        if name == "auto": name = next(iter(self.sessions), None)
        if name in self.sessions: return "/org/freedesktop/login1/session/" + name
        raise dbus.DBusException("No session", name="org.freedesktop.login1.NoSuchSession")

    @dbus.service.method(MANAGER, in_signature="ssss", out_signature="h")
    def Inhibit(self, what, who, why, mode):
        if self.pause: raise dbus.DBusException("Too late", name="org.freedesktop.login1.OperationInProgress")
        kept, given = os.pipe()
        self.inhibitors[kept] = (what, who, why, mode)
        GLib.io_add_watch(kept, GLib.IO_HUP, self.released)
        descriptor = dbus.types.UnixFd(given)
        os.close(given)
        return descriptor

    def released(self, kept, _):
        del self.inhibitors[kept]
        os.close(kept)
        if not self.inhibitors: self.begin_pause(self.pause)
        return False

    @dbus.service.method(MACHINE, out_signature="as")
    def Inhibitors(self):
        return dbus.Array([f"{what} {who} {mode}" for what, who, _, mode in self.inhibitors.values()], signature="s")

    @dbus.service.method(MANAGER, in_signature="b")
    def Suspend(self, interactive):
        self.prepare(self.PrepareForSleep)

    @dbus.service.method(MANAGER, in_signature="b")
    def PowerOff(self, interactive):
        self.prepare(self.PrepareForShutdown)

    def prepare(self, signal):
        self.pause = {"signal": signal, "start": time.monotonic(), "begun": False}
        GLib.timeout_add_seconds(DELAY, self.begin_pause, self.pause)
        signal(True)
        if not self.inhibitors: self.begin_pause(self.pause)

    def begin_pause(self, pause):
        if not pause or pause is not self.pause or pause["begun"]: return False
        pause["begun"] = True
        self.Paused(int((time.monotonic() - pause["start"]) * 1000))
        return False

    @dbus.service.signal(MACHINE, signature="u")
    def Paused(self, milliseconds):
        pass

    @dbus.service.method(MACHINE)
    def Wake(self):
        signal = self.pause["signal"]
        self.pause = None
        signal(False)

    @dbus.service.method(MANAGER, in_signature="s")
    def LockSession(self, name):
        (self.other if name == "c9" else self.sessions[name]).Lock()

    @dbus.service.method(MANAGER, in_signature="s")
    def UnlockSession(self, name):
        self.sessions[name].Unlock()

    @dbus.service.method(MANAGER, in_signature="s")
    def TerminateSession(self, name):
        self.sessions.pop(name).remove_from_connection()
        self.SessionRemoved(name, "/org/freedesktop/login1/session/" + name)

    @dbus.service.method(MACHINE, in_signature="s")
    def Login(self, name):
        self.begin_session(name)

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.bus.BusConnection(sys.argv[1])
manager = Manager(bus)
name = dbus.service.BusName("org.freedesktop.login1", bus, do_not_queue=True)
loop = GLib.MainLoop()
bus.call_on_disconnection(lambda connection: loop.quit())
loop.run()
