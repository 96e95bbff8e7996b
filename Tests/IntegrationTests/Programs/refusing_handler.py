#!/usr/bin/python3
import dbus, dbus.mainloop.glib, dbus.service, os, sys, urllib.parse
from gi.repository import GLib

class Handler(dbus.service.Object):
    @dbus.service.method("org.openurl.Handler1", in_signature="sa{sv}", out_signature="ba{sv}a(stb)")
    def Open(self, url, context):
        way = url.partition(":")[2].partition("/")[0]
        plain = urllib.parse.unquote_plus(url)
        if way == "crash":
            print("cannot open", plain, file=sys.stderr, flush=True)
            os._exit(1)
        if way == "echo":
            print("opening", url, file=sys.stderr, flush=True)
            return True, {}, [("opened " + plain, dbus.UInt64(1), True)]
        limit = {"cut": 4096, "store": 1024}.get(way, 0)
        raise dbus.DBusException("x" * max(limit - len(plain) + 4, 0) + plain, name="com.example.Error.Refused")

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
handler = Handler(bus, "/com/example/script")
name = dbus.service.BusName("com.example.script", bus, do_not_queue=True)
loop = GLib.MainLoop()
bus.call_on_disconnection(lambda connection: loop.quit())
loop.run()
