#!/usr/bin/python3
"""Opens many URLs at once. Prints `sent` when the router has them all, and a line with the outcome of each: `ok` or the error.

    open_at_once.py URL COUNT

The URLs are URL1, URL2 and so on. One connection makes all the calls, without waiting for an answer in between. The router takes
the messages of a connection in their order.
"""

import sys

import dbus
import dbus.mainloop.glib
from gi.repository import GLib

LIMIT = 300  # seconds
dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
loop = GLib.MainLoop()
bus = dbus.SessionBus()
waiting = int(sys.argv[2])


def end(outcome):
    global waiting
    print(outcome, flush=True)
    waiting -= 1
    if not waiting:
        loop.quit()


def call(interface, method, signature, arguments, reply, error):
    bus.call_async("org.openurl.Router1", "/org/openurl/Router1", interface, method, signature, arguments, reply, error,
                   timeout=LIMIT)


for number in range(1, waiting + 1):
    url = f"{sys.argv[1]}{number}"
    call("org.openurl.Router1", "OpenURL", "sa{sv}", (url, {}), lambda _, url=url: end(f"{url} ok"),
         lambda error, url=url: end(f"{url} {error.get_dbus_name()}: {error}"))
call("org.freedesktop.DBus.Peer", "Ping", "", (), lambda: print("sent", flush=True), lambda error: print(error, flush=True))
loop.run()
