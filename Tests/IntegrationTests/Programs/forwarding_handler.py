#!/usr/bin/python3
import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

class Handler(dbus.service.Object):
    @dbus.service.method("org.openurl.Handler1", in_signature="sa{sv}", out_signature="ba{sv}a(stb)")
    def Open(self, url, context):
        print("opens", url, flush=True)
        router = bus.get_object("org.openurl.Router1", "/org/openurl/Router1")
        result = router.OpenURL("guarded:x", {}, dbus_interface="org.openurl.Router1")
        return True, {"source": result["reply"].get("source-application", "")}, []

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
handler = Handler(bus, "/com/example/script")
name = dbus.service.BusName("com.example.script", bus, do_not_queue=True)
loop = GLib.MainLoop()
bus.call_on_disconnection(lambda connection: loop.quit())
loop.run()
