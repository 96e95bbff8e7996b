"""A service that shows notifications, in which a test plays the user.

Usage: notification_service.py CAPABILITY ...

`Shown` of `org.example.Desktop1` returns the numbers, titles, texts and actions of the notifications on the screen, and `Click` and `Dismiss` do what a user does; `Invoke` only says that there was a click. The signal
`Changed` comes after each change on the screen.
"""

import dbus, dbus.service, sys
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib
DBusGMainLoop(set_as_default=True)
name = "org.freedesktop.Notifications"
desktop = "org.example.Desktop1"
class Notifications(dbus.service.Object):
    shown, last = {}, 0

    @dbus.service.method(name, out_signature="as")
    def GetCapabilities(self): return sys.argv[1:]

    @dbus.service.method(name, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, application, replaced, icon, title, text, actions, hints, timeout):
        Notifications.last += 1
        self.shown[self.last] = (self.last, title, text, " ".join(actions))
        self.Changed()
        # A notification with this text gets a click before the answer.
        if text == "at once": self.Click(self.last, "")
        return self.last

    @dbus.service.method(name, in_signature="u")
    def CloseNotification(self, id): self.remove(id, 3)

    @dbus.service.signal(name, signature="uu")
    def NotificationClosed(self, id, reason): pass

    @dbus.service.signal(name, signature="us")
    def ActionInvoked(self, id, action): pass

    @dbus.service.signal(name, signature="us")
    def ActivationToken(self, id, token): pass

    @dbus.service.method(desktop, out_signature="auasasas")
    def Shown(self): return tuple([note[column] for note in self.shown.values()] for column in range(4))

    @dbus.service.method(desktop, in_signature="us")
    def Click(self, id, token):
        self.ActivationToken(id, token)
        self.ActionInvoked(id, "default")
        self.remove(id, 2)

    @dbus.service.method(desktop, in_signature="u")
    def Invoke(self, id): self.ActionInvoked(id, "default")

    @dbus.service.method(desktop, in_signature="u")
    def Dismiss(self, id): self.remove(id, 2)

    @dbus.service.signal(desktop)
    def Changed(self): pass

    def remove(self, id, reason):
        del self.shown[id]
        self.NotificationClosed(id, reason)
        self.Changed()
bus = dbus.SessionBus()
service = Notifications(bus, "/org/freedesktop/Notifications")
owned = dbus.service.BusName(name, bus)
GLib.MainLoop().run()
