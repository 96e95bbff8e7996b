import dbus, dbus.service, sys
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib
DBusGMainLoop(set_as_default=True)
class Router(dbus.service.Object):
    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
    def Get(self, interface, name): return "0.0.1"
bus = dbus.SessionBus()
name = dbus.service.BusName("org.openurl.Router1", bus)
router = Router(bus, "/org/openurl/Router1")
open(sys.argv[1], "w").write("ready\n")
GLib.MainLoop().run()
