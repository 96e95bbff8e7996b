"""A portal that shows notifications, in which a test plays the user.

Usage: notification_portal.py VERSION

`Shown` of `org.example.Desktop1` returns the identifiers, titles and texts of the notifications on the screen, and the
application that has registered last. `Click` does what a user does.
"""

import dbus, dbus.service, sys
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib
DBusGMainLoop(set_as_default=True)
portal = "org.freedesktop.portal.Notification"
desktop = "org.example.Desktop1"
class Portal(dbus.service.Object):
    shown, application = {}, ""

    @dbus.service.method("org.freedesktop.DBus.Properties", in_signature="ss", out_signature="v")
    def Get(self, interface, name): return {"version": dbus.UInt32(sys.argv[1])}[name]

    @dbus.service.method("org.freedesktop.host.portal.Registry", in_signature="sa{sv}")
    def Register(self, application, options): Portal.application = application

    @dbus.service.method(portal, in_signature="sa{sv}")
    def AddNotification(self, id, notification):
        assert notification["default-action"] == "default"
        self.shown[id] = (id, notification["title"], notification["body"])

    @dbus.service.method(portal, in_signature="s")
    def RemoveNotification(self, id): self.shown.pop(id, None)

    @dbus.service.signal(portal, signature="ssav")
    def ActionInvoked(self, id, action, parameter): pass

    @dbus.service.method(desktop, out_signature="asasass")
    def Shown(self): return tuple([note[column] for note in self.shown.values()] for column in range(3)) + (self.application,)

    @dbus.service.method(desktop, in_signature="ss")
    def Click(self, id, token):
        data = dbus.Dictionary({"activation-token": token}, signature="sv")
        self.ActionInvoked(id, "default", [data] if sys.argv[1] == "2" else [])
        del self.shown[id]
bus = dbus.SessionBus()
service = Portal(bus, "/org/freedesktop/portal/desktop")
owned = dbus.service.BusName("org.freedesktop.portal.Desktop", bus)
GLib.MainLoop().run()
