#!/usr/bin/python3
"""A handler that tells a socket of each URL, with the context of the URL.

    handler.py ID SOCKET
"""

import json, os, socket, sys
import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

ID, SOCKET = sys.argv[1:]
arrivals = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


class Handler(dbus.service.Object):
    @dbus.service.method("org.openurl.Handler1", in_signature="sa{sv}", out_signature="ba{sv}a(stb)")
    def Open(self, url, context):
        arrivals.sendto(json.dumps({"id": ID, "url": url, "context": context}).encode(), SOCKET)
        return True, {"seen": url}, []


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
handler = Handler(bus, "/" + ID.replace(".", "/"))
name = dbus.service.BusName(ID, bus, do_not_queue=True)
loop = GLib.MainLoop()
bus.call_on_disconnection(lambda connection: loop.quit())
loop.run()
