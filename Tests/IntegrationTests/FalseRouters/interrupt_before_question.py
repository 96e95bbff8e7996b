"""Stands in for the router, and interrupts the command before the question that the command asks at its terminal.

The signal has arrived when the command gets the question, so no `read` of the terminal notices it.
Prints the output of the command, and its exit status in the last line.
"""
import os
import pty
import signal
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

ROUTER, POLICY = "org.openurl.Router1", "org.openurl.Policy1"


class Router(dbus.service.Object):
    @dbus.service.method(ROUTER, in_signature="sa{sv}", out_signature="")
    def Open(self, url, options):
        raise dbus.DBusException("ask first", name="org.openurl.Error.NotAllowed")

    @dbus.service.method(ROUTER, in_signature="sa{sv}", out_signature="a{sv}")
    def OpenURL(self, url, options):
        raise dbus.DBusException("ask first", name="org.openurl.Error.NotAllowed")

    @dbus.service.method(POLICY, in_signature="sa{sv}", out_signature="a{sv}")
    def Question(self, url, options):
        os.kill(child, signal.SIGINT)
        return {"url": url, "permission": "key", "sender": "a program", "handler": "a handler"}


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
# The name has to live as long as the program.
name = dbus.service.BusName(ROUTER, bus, do_not_queue=True)
router = Router(bus, "/org/openurl/Router1")

child, terminal = pty.fork()
if child == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.environ["OPENURL_ROUTER"] = "any"
    os.execv(sys.argv[1], sys.argv[1:])

loop = GLib.MainLoop()


def show(descriptor, condition):
    try:
        data = os.read(descriptor, 4096)
    except OSError:
        data = b""
    sys.stdout.buffer.write(data)
    if not data:
        loop.quit()
    return bool(data)


GLib.io_add_watch(terminal, GLib.IO_IN | GLib.IO_HUP, show)
loop.run()
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.stdout.write("\nexit %d" % status)
