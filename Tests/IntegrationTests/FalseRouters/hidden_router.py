"""Takes the router's name, hides its own program from the user's other processes, and runs a command.

Nothing is hidden from root, so as root the program first becomes another user.
Prints the output of the command, each call that has reached this program, and the command's exit status in the last line.
"""
import ctypes
import os
import subprocess
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

PR_SET_DUMPABLE = 4
ROUTER = "org.openurl.Router1"


class Router(dbus.service.Object):
    @dbus.service.method(ROUTER, in_signature="sa{sv}", out_signature="")
    def Open(self, url, options):
        print("got", url)

    @dbus.service.method(ROUTER, in_signature="sa{sv}", out_signature="a{sv}")
    def OpenURL(self, url, options):
        print("got", url)


if os.getuid() == 0:
    socket = os.environ["DBUS_SESSION_BUS_ADDRESS"].split("path=")[1].split(",")[0]
    os.chmod(os.path.dirname(socket), 0o755)
    os.chmod(socket, 0o666)
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
# The name has to live as long as the program.
name = dbus.service.BusName(ROUTER, bus, do_not_queue=True)
router = Router(bus, "/org/openurl/Router1")
loop = GLib.MainLoop()
command = subprocess.Popen(sys.argv[1:], stderr=subprocess.STDOUT)
GLib.child_watch_add(GLib.PRIORITY_DEFAULT, command.pid, lambda pid, status: (print("exit", status >> 8), loop.quit()))
loop.run()
