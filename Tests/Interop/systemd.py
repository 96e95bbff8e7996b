#!/usr/bin/python3
"""A stand-in for systemd on a bus: starts the programs of transient services, and reports how they end."""

import os, subprocess
import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib


MANAGER = "org.freedesktop.systemd1.Manager"
SERVICE, UNIT = "org.freedesktop.systemd1.Service", "org.freedesktop.systemd1.Unit"
PATH = "/org/freedesktop/systemd1"


class Service(dbus.service.Object):
    """A service's object, and its process."""

    def __init__(self, bus, name, properties):
        escaped = "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):02x}" for c in name)
        super().__init__(bus, f"{PATH}/unit/{escaped}")
        [(path, arguments, _)] = properties.get("ExecStartEx") or properties["ExecStart"]
        output = properties.get("StandardOutputFileDescriptor")
        output = output.take() if output else None
        environment = dict(variable.split("=", 1) for variable in properties.get("Environment", [])) or None
        process = subprocess.Popen(arguments, executable=path, env=environment, cwd=properties.get("WorkingDirectory"),
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        if output:
            os.close(output)
        self.pid = process.pid
        GLib.child_watch_add(GLib.PRIORITY_DEFAULT, self.pid, self.ended)

    def report(self, state, **properties):
        self.PropertiesChanged(SERVICE, properties, [])
        self.PropertiesChanged(UNIT, {"ActiveState": state}, [])

    def started(self):
        self.report("active", ExecMainPID=dbus.UInt32(self.pid))

    def ended(self, pid, status):
        code, value = (1, os.WEXITSTATUS(status)) if os.WIFEXITED(status) else (2, os.WTERMSIG(status))
        self.pid = 0
        self.report("failed" if status else "inactive", ExecMainCode=dbus.Int32(code), ExecMainStatus=dbus.Int32(value))

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        assert name == "MainPID", name
        return dbus.UInt32(self.pid)

    @dbus.service.signal(dbus.PROPERTIES_IFACE, signature="sa{sv}as")
    def PropertiesChanged(self, interface, changed, invalidated):
        pass


class Manager(dbus.service.Object):
    @dbus.service.method(MANAGER, in_signature="", out_signature="")
    def Subscribe(self):
        pass

    @dbus.service.method(MANAGER, in_signature="s", out_signature="o")
    def LoadUnit(self, name):
        return f"{PATH}/unit/1"

    @dbus.service.method(MANAGER, in_signature="s", out_signature="")
    def UnrefUnit(self, name):
        pass

    @dbus.service.method(MANAGER, in_signature="ssa(sv)a(sa(sv))", out_signature="o")
    def StartTransientUnit(self, name, mode, properties, auxiliary):
        service = Service(bus, name, dict(properties))
        job = f"{PATH}/job/1"

        def finish():
            service.started()
            self.JobRemoved(1, job, name, "done")

        GLib.idle_add(finish)
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
