#!/usr/bin/python3
import sys, threading
import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

ID, BLOCKS = sys.argv[1], sys.argv[2] == "blocks"

class Handler(dbus.service.Object):
    @dbus.service.method("org.openurl.Handler1", in_signature="sa{sv}", out_signature="ba{sv}a(stb)",
                         async_callbacks=("answer", "fail"))
    def Open(self, url, context, answer, fail):
        open(sys.argv[3], "a").write("open %s\n" % url)
        if url.endswith("first") and BLOCKS:
            open(sys.argv[4]).read()
        elif url.endswith("first"):
            threading.Thread(target=lambda: open(sys.argv[4]).read() or GLib.idle_add(answer, True, {}, [])).start()
            return
        answer(True, {}, [])

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
handler = Handler(bus, "/" + ID.replace(".", "/"))
name = dbus.service.BusName(ID, bus, do_not_queue=True)
GLib.MainLoop().run()
