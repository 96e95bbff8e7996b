#!/usr/bin/python3
"""A program with a window, for the checks under Wayland. It gets URLs, and each key in its window opens one.

    window.py TOOLKIT ID SOCKET PEER [ARGUMENT ...]

TOOLKIT is `gtk` (GTK 4) or `qt` (Qt 6). URLs arrive through `org.openurl.Handler1`, through `org.freedesktop.Application` (GTK
only), or as an argument. The program tells SOCKET of each URL with its tokens, of each key, and whenever its window gets or loses
the focus. A key opens the URL PEER, in the way that `OPENERS` says; a URL with a query makes the query the new PEER.
"""

import json, os, socket, sys
import gi
from gi.repository import Gio, GLib

TOOLKIT, ID, SOCKET, PEER = sys.argv[1:5]
ARGUMENTS = sys.argv[5:]
INTERFACES = Gio.DBusNodeInfo.new_for_xml("""<node>
  <interface name="org.openurl.Handler1">
    <method name="Open">
      <arg name="url" type="s" direction="in"/>
      <arg name="context" type="a{sv}" direction="in"/>
      <arg name="handled" type="b" direction="out"/>
      <arg name="answer" type="a{sv}" direction="out"/>
      <arg name="trace" type="a(stb)" direction="out"/>
    </method>
  </interface>
  <interface name="org.example.Window">
    <method name="Press"><arg name="key" type="s" direction="in"/></method>
  </interface>
</node>""").interfaces
ROUTER = ["org.openurl.Router1", "/org/openurl/Router1", "org.openurl.Router1"]
TOKENS = ["activation-token", "desktop-startup-id"]
VARIABLES = ["XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID"]
# The toolkits take these, and may remove them.
ENVIRONMENT = {name: os.environ[name] for name in VARIABLES if name in os.environ}
reports = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)


def report(**facts):
    reports.sendto(json.dumps({"id": ID, "pid": os.getpid()} | facts).encode(), SOCKET)


def arrived(url, message):
    """Takes a URL with the tokens of its message."""
    global PEER
    PEER = url.partition("?")[2] or PEER
    report(url=url, message=message, environment=ENVIRONMENT)


def by_call(token):
    options = {"activation-token": GLib.Variant("s", token)} if token else {}
    bus.call(*ROUTER, "OpenURL", GLib.Variant("(sa{sv})", (PEER, options)), None, Gio.DBusCallFlags.NONE, GLib.MAXINT, None, None)


def by_command(token):
    launcher = Gio.SubprocessLauncher.new(Gio.SubprocessFlags.NONE)
    for name in VARIABLES:
        launcher.unsetenv(name)
    if token:
        launcher.setenv(VARIABLES[0], token, True)
    launcher.spawnv(["openurl", PEER])


# What each key does, with a token that the window asks for. The check opens something itself with that of the last one.
OPENERS = {"o": by_call, "c": by_command, "k": lambda token: None}


def press(key):
    token = window.token() if key in OPENERS else None
    report(key=key, token=token)
    if key in OPENERS:
        OPENERS[key](token)
    elif key == "n":
        by_command(None)
    elif key == "t":
        window.open()
    elif key == "m":
        window.minimize()


def export(connection, path):
    """Serves the calls of the router, and those of the check."""

    def call(connection, sender, path, interface, method, arguments, invocation):
        if method == "Press":
            press(*arguments.unpack())
            return invocation.return_value(None)
        url, context = arguments.unpack()
        tokens = {name: context[name] for name in TOKENS if name in context}
        arrived(url, tokens)
        window.show(tokens.get(TOKENS[0]))
        invocation.return_value(GLib.Variant("(ba{sv}a(stb))", (True, {}, [])))

    for interface in INTERFACES:
        connection.register_object(path, interface, call, None, None)


class GTKWindow:
    window = None

    def run(self):
        for namespace in ["Gtk", "Gdk", "GdkWayland", "GdkX11"]:
            gi.require_version(namespace, "4.0")
        from gi.repository import Gdk, GdkWayland, GdkX11, Gtk
        self.Gdk, self.Gtk, show = Gdk, Gtk, self.show

        class Application(Gtk.Application):
            tokens = {}

            def do_dbus_register(self, connection, path):
                export(connection, path)
                return Gtk.Application.do_dbus_register(self, connection, path)

            def do_before_emit(self, data):
                # GTK takes the tokens of a message here, and uses them for the window that is presented next.
                self.tokens = {name: value for name, value in data.unpack().items() if name in TOKENS}
                Gtk.Application.do_before_emit(self, data)

            def do_activate(self):
                show(None)

            def do_open(self, files, count, hint):
                arrived(files[0].get_uri(), self.tokens)
                show(None)

        self.application = Application(application_id=ID, flags=Gio.ApplicationFlags.HANDLES_OPEN)
        return self.application.run([sys.argv[0], *ARGUMENTS])

    def show(self, token):
        if not self.window:
            self.window = self.Gtk.ApplicationWindow(application=self.application, title=ID)
            keys = self.Gtk.EventControllerKey()
            keys.connect("key-pressed", lambda _, value, *rest: press(self.Gdk.keyval_name(value)))
            self.window.add_controller(keys)
            self.window.connect("notify::is-active", lambda *_: report(active=self.window.is_active()))
        if token:
            self.window.set_startup_id(token)
            # Before GTK 4.10, only this passes the token on under Wayland.
            self.window.get_display().set_startup_notification_id(token)
        self.window.present()

    def open(self):
        Gio.AppInfo.launch_default_for_uri(PEER, self.window.get_display().get_app_launch_context())

    def token(self):
        context = self.window.get_display().get_app_launch_context()
        return context.get_startup_notify_id(Gio.AppInfo.create_from_commandline("openurl", None, 0), [])

    def minimize(self):
        self.window.minimize()


class QtWindow:
    def run(self):
        from PyQt6.QtCore import QUrl
        from PyQt6.QtGui import QDesktopServices, QGuiApplication, QRasterWindow

        class Window(QRasterWindow):
            def keyPressEvent(self, event):
                press(event.text())

            def focusInEvent(self, event):
                report(active=True)

            def focusOutEvent(self, event):
                report(active=False)

        application = QGuiApplication([sys.argv[0]])
        self.window = Window()
        self.window.setTitle(ID)
        self.window.resize(300, 200)
        self.open = lambda: QDesktopServices.openUrl(QUrl(PEER))
        self.minimize = self.window.showMinimized
        if ARGUMENTS:
            arrived(ARGUMENTS[0], {})
            self.show(None)
        else:
            export(bus, "/" + ID.replace(".", "/"))
            Gio.bus_own_name_on_connection(bus, ID, Gio.BusNameOwnerFlags.DO_NOT_QUEUE, None, None)
        return application.exec()

    def show(self, token):
        if token:
            # Qt has no other way to pass a token to a window.
            os.environ[VARIABLES[0]] = token
        self.window.showNormal()
        self.window.requestActivate()

    def token(self):
        """Returns nothing: Qt 6.4 has no public way to ask for a token."""


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
window = {"gtk": GTKWindow, "qt": QtWindow}[TOOLKIT]()
sys.exit(window.run())
