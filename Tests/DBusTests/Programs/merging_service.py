"""The service com.example.Python, with a method, a method that fails, and a signal."""

import dbus, dbus.service, dbus.mainloop.glib
from gi.repository import GLib

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()

class Service(dbus.service.Object):
    @dbus.service.method("com.example.Python1", in_signature="sa{sv}", out_signature="a{sv}")
    def Merge(self, key, options):
        options[key] = dbus.Struct([dbus.UInt32(1), "b"], signature="us")
        self.Merged(key)
        return options
    @dbus.service.method("com.example.Python1", out_signature="")
    def Fail(self):
        raise dbus.DBusException("because", name="com.example.Error.Python")
    @dbus.service.signal("com.example.Python1", signature="s")
    def Merged(self, key):
        pass

name = dbus.service.BusName("com.example.Python", bus)
service = Service(bus, "/python")
GLib.MainLoop().run()
