#!/usr/bin/python3
"""A stand-in for systemd on a bus: starts the commands of transient units, and nothing else."""

import subprocess
import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib


MANAGER = "org.freedesktop.systemd1.Manager"
PATH = "/org/freedesktop/systemd1"


class Manager(dbus.service.Object):
    @dbus.service.method(MANAGER, in_signature="", out_signature="")
    def Subscribe(self):
        pass

    @dbus.service.method(MANAGER, in_signature="s", out_signature="o")
    def LoadUnit(self, name):
        return f"{PATH}/unit/1"

    @dbus.service.method(MANAGER, in_signature="ssa(sv)a(sa(sv))", out_signature="o")
    def StartTransientUnit(self, name, mode, properties, auxiliary):
        for key, value in properties:
            if key == "ExecStart":
                subprocess.Popen(value[0][1], stdin=subprocess.DEVNULL)
        job = f"{PATH}/job/1"
        GLib.idle_add(self.JobRemoved, 1, job, name, "done")
        return job

    @dbus.service.signal(MANAGER, signature="uoss")
    def JobRemoved(self, number, job, unit, result):
        pass


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
manager = Manager(bus, PATH)
name = dbus.service.BusName("org.freedesktop.systemd1", bus, do_not_queue=True)
print("ready", flush=True)
loop = GLib.MainLoop()
bus.call_on_disconnection(lambda connection: loop.quit())
loop.run()
