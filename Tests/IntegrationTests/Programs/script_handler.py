"""Handlers of tests, which are written from the contract and have one thread. The first argument is the identifier.

A program makes a subclass with further methods of the interface, and runs it.
"""

import os, sys
import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

ID = sys.argv[1]
HANDLER = "org.openurl.Handler1"
OPEN = {"dbus_interface": HANDLER, "in_signature": "sa{sv}", "out_signature": "ba{sv}a(stb)"}

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
tasks = {"earlier": dbus.UInt32(0)}  # the number 0 stands for all tasks from an earlier router
notes = []  # texts that the reply to the next URL has

def router(method, *arguments):
    proxy = bus.get_object("org.openurl.Router1", "/org/openurl/Router1", introspect=False)
    return proxy.get_dbus_method(method, "org.openurl.Lifecycle1")(*arguments)

def begin(name):
    task, left = router("BeginBackgroundTask", name)
    tasks[name] = task
    return left

def end(name):
    router("EndBackgroundTask", tasks.pop(name))

def left():
    return router("BackgroundTimeRemaining")

class ScriptHandler(dbus.service.Object):
    @dbus.service.method(**OPEN)
    def Open(self, url, context):
        """Does what the host of the URL says: `script://begin/TASK`, `script://end/TASK` or `script://left`."""
        action, _, argument = url.partition("://")[2].partition("/")
        reply = {"pid": dbus.Int32(os.getpid())}
        if action == "begin": reply["left"] = begin(argument)
        if action == "end": end(argument)
        if action == "left": reply["left"] = left()
        if notes: reply["notes"] = dbus.Array(notes, signature="s")
        return True, reply, []

def run(handler):
    """Runs a handler of a class, until the bus ends."""
    exported = handler(bus, "/" + ID.replace(".", "/"))
    name = dbus.service.BusName(ID, bus, do_not_queue=True)
    loop = GLib.MainLoop()
    bus.call_on_disconnection(lambda connection: loop.quit())
    loop.run()
