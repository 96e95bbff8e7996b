"""The focus under Wayland: a caller's activation token lets the window of a handler take the focus.

The compositors have no screen. `window.py` is the caller and the handlers.
"""

import json, os, shutil, signal, time
from gi.repository import Gio, GLib
from session import HERE, Skip, check, wait_until

WINDOW = f"{HERE}/window.py"
CALLER = "com.example.caller"
PACKAGES = ["python3-gi", "gir1.2-gtk-4.0", "python3-pyqt6", "qt6-wayland", "desktop-file-utils", "bubblewrap", "xdg-utils"]
ROUNDS = 20


class Compositor:
    """A compositor without a screen. Whatever the session starts after this has its windows there."""

    display = "wayland-1"
    # Whether programs can press keys.
    has_terminal = True

    def __init__(self, session):
        self.session = session
        session.environment |= {"GDK_BACKEND": "wayland", "QT_QPA_PLATFORM": "wayland", "LIBGL_ALWAYS_SOFTWARE": "1",
                                "WAYLAND_DISPLAY": self.display}
        # The bus starts programs in the environment that it was started in.
        session.start_bus()
        self.bus = Gio.DBusConnection.new_for_address_sync(
            session.environment["DBUS_SESSION_BUS_ADDRESS"],
            Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION)
        self.start()
        if not wait_until(lambda: os.path.exists(f"{session.root}/run/{self.display}")):
            raise Skip(f"{type(self).__name__} does not start here")

    def call(self, name, path, interface, method, arguments=None):
        return self.bus.call_sync(name, path, interface, method, arguments, None, Gio.DBusCallFlags.NONE, 10_000).unpack()

    def press(self, id, key):
        """Presses a key in the window that has the focus."""
        raise NotImplementedError

    def put_away(self, id):
        """Takes the focus from a window that has it, which another window then gets."""
        self.press(id, "m")


class Mutter(Compositor):
    def start(self):
        self.session.start("mutter", "--headless", "--wayland", "--no-x11", "--virtual-monitor", "1024x768", "--wayland-display",
                           self.display)
        name = "org.gnome.Mutter.RemoteDesktop"
        names = "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner"
        if not wait_until(lambda: self.call(*names, GLib.Variant("(s)", (name,)))[0]):
            raise Skip("Mutter does not start here")
        [path] = self.call(name, "/org/gnome/Mutter/RemoteDesktop", name, "CreateSession")
        self.input = name, path, f"{name}.Session"
        self.call(*self.input, "Start")
        # With the first key, the windows get a keyboard.
        self.key(0xFFE1)

    def key(self, symbol):
        for pressed in [True, False]:
            self.call(*self.input, "NotifyKeyboardKeysym", GLib.Variant("(ub)", (symbol, pressed)))

    def press(self, id, key):
        self.key(ord(key))


class Sway(Compositor):
    def start(self):
        with open(f"{self.session.root}/sway", "w") as file:
            # By default, a window that has a token is only marked.
            file.write("focus_on_window_activation focus\nxwayland disable\n")
        # Sway refuses to run as root.
        user = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--uid", "1000", "--gid", "1000"] if os.getuid() == 0 else []
        self.socket = f"{self.session.root}/run/sway"
        self.session.start(*user, "sway", "--config", f"{self.session.root}/sway", environment={
            "WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1", "SWAYSOCK": self.socket})
        wait_until(lambda: os.path.exists(f"{self.session.root}/run/{self.display}"))
        # A keyboard that stays.
        self.session.start("wtype", "-s", "3600000")

    def press(self, id, key):
        self.session.run("wtype", key)

    def put_away(self, id):
        self.session.run("swaymsg", "-s", self.socket, f"[app_id={CALLER}]", "focus")


class KWin(Compositor):
    has_terminal = False

    def start(self):
        # The installed program has a capability, without which the kernel does not start it.
        program = shutil.copy("/usr/bin/kwin_wayland", self.session.root)
        self.session.start(program, "--virtual", "--socket", self.display, "--no-lockscreen")

    def press(self, id, key):
        """Makes the window do what it does for the key: KWin takes no keys from programs."""
        self.bus.call_sync(id, "/" + id.replace(".", "/"), "org.example.Window", "Press", GLib.Variant("(s)", (key,)), None,
                           Gio.DBusCallFlags.NONE, 10_000)


class Desk:
    """A compositor with a caller's window, and handlers of all kinds."""

    def __init__(self, session, compositor):
        self.session, self.pids = session, {}
        self.start_entry("application", "DBusActivatable=true")
        self.start_entry("command", "")
        self.compositor = compositor(session)
        for id, toolkit in [("caller", "gtk"), ("gtk", "gtk"), ("qt", "qt")]:
            arguments = [toolkit, f"com.example.{id}", f"{session.root}/arrivals", "caller:"]
            session.register(f"com.example.{id}", id, WINDOW, arguments)

    def start_entry(self, name, line):
        root, id = self.session.root, f"com.example.{name}"
        command = f"{WINDOW} gtk {id} {root}/arrivals caller:"
        with open(f"{root}/data/applications/{id}.desktop", "w") as file:
            file.write(f"[Desktop Entry]\nType=Application\nName={name}\nExec={command} %u\n{line}\n"
                       f"MimeType=x-scheme-handler/{name};\n")
        os.makedirs(f"{root}/data/dbus-1/services", exist_ok=True)
        if line:
            with open(f"{root}/data/dbus-1/services/{id}.service", "w") as file:
                file.write(f"[D-BUS Service]\nName={id}\nExec={command} --gapplication-service\n")
        self.session.run("update-desktop-database", f"{root}/data/applications")

    def wait(self, id, seconds=10, **facts):
        """Waits for a report with these facts, or these keys if the value is None. Returns the report, or an empty one."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.session.arrivals.settimeout(left)
            try:
                report = json.loads(self.session.arrivals.recv(1 << 20))
            except TimeoutError:
                break
            self.pids[report["id"]] = report["pid"]
            if report["id"] == id and all(name in report and value in [None, report[name]] for name, value in facts.items()):
                return report
        return {}

    def aim(self, handler):
        """Gives the caller's window the focus, and the URL that its keys open."""
        self.session.run("openurl", f"{CALLER.rpartition('.')[2]}:?{handler}:")
        self.wait(CALLER, url=None)

    def open(self, key, id):
        """Presses a key in the caller. Returns the caller's token, the report of the URL, and whether the handler gets the focus."""
        self.compositor.press(CALLER, key)
        token = self.wait(CALLER, key=key).get("token")
        arrived = self.wait(id, url=None)
        return token, arrived, bool(self.wait(id, 10 if key != "n" else 1, active=True))

    def come_back(self, id, toolkit):
        """Takes the focus back to the caller. GTK's windows open the caller's URL, with a token."""
        if toolkit == "gtk":
            self.compositor.press(id, "o")
        else:
            self.compositor.put_away(id)
        return bool(self.wait(CALLER, 10, active=True))

    def end(self, name):
        """Ends the handler, so that the caller has the focus and the next handler's first window is a new one."""
        pid = self.pids.pop(f"com.example.{name}", None)
        if pid:
            os.kill(pid, signal.SIGTERM)
            self.wait(CALLER, 10, active=True)


def places(token, arrived):
    """Returns where a token has arrived: in the message, in the environment, or in neither."""
    found = [place for place in ["message", "environment"] if arrived.get(place)]
    values = {value for place in found for value in arrived[place].values()}
    if not found:
        return "nowhere"
    # GTK opens an application's URL itself, and keeps the token to itself.
    is_right = values == {token} if token else len(values) == 1
    return " and ".join(found) + ("" if is_right else ", another token")


def handler(desk, name, id, toolkit, keys):
    """Opens URLs with a handler: the first starts it, and the others find it running. Returns the lines."""
    desk.aim(name)
    token, arrived, has_focus = desk.open(keys[0], id)
    yield f"GTK 4 to {name}, first URL", PLACES[name], places(token, arrived)
    yield f"GTK 4 to {name}, focus of the first URL", True, has_focus
    good = focused = 0
    for number in range(ROUNDS):
        if not has_focus or not desk.come_back(id, toolkit):
            break
        key = keys[number % len(keys)]
        token, arrived, has_focus = desk.open(key, id)
        tokens = set(arrived.get("message", {}).values())
        good += len(tokens) == 1 and (token is None or tokens == {token})
        focused += has_focus
    expected = f"{ROUNDS} with one token, {ROUNDS} with the focus"
    yield f"GTK 4 to {name}, {ROUNDS} more URLs", expected, f"{good} with one token, {focused} with the focus"


# Where the tokens of the first URL arrive. GTK's own message to a running application is not the router's.
PLACES = {"gtk": "message and environment", "qt": "message and environment", "application": "message", "command": "environment"}


def focus(compositor):
    """Returns the check of a compositor."""

    def run(session):
        desk = Desk(session, compositor)
        session.run("openurl", "caller:")
        if not desk.wait(CALLER, active=True):
            raise Skip("GTK 4 gets no window here")
        # GTK opens an application's URL itself, so it passes URLs to openurl only through a published entry.
        handlers = [("gtk", "gtk", "toc"), ("application", "gtk", "oc"), ("command", "gtk", "oc"), ("qt", "qt", "toc")]
        for name, toolkit, keys in handlers:
            yield from handler(desk, name, f"com.example.{name}", toolkit, keys)
            if name == "qt":
                yield qt_caller(desk)
            desk.end(name)
        yield from without_token(desk)

    return run


def qt_caller(desk):
    """Opens a URL as Qt does. Returns the line."""
    desk.compositor.press("com.example.qt", "t")
    arrived = desk.wait(CALLER, url=None)
    has_focus = bool(desk.wait(CALLER, 1, active=True))
    return "Qt 6 to GTK 4", "token nowhere, no focus", f"token {places(None, arrived)}, {'the' if has_focus else 'no'} focus"


def without_token(desk):
    """Callers without a token: the URL arrives, and the running handler's window does not get the focus. Returns the lines."""
    id, expected = "com.example.gtk", "token nowhere, no focus"
    desk.aim("gtk")
    # The next process has no token in its environment.
    desk.open("n", id)
    desk.come_back(id, "gtk")
    _, arrived, has_focus = desk.open("n", id)
    yield "a script to gtk", expected, f"token {places(None, arrived)}, {'the' if has_focus else 'no'} focus"
    if not desk.compositor.has_terminal:
        return
    command = "read -n 1; openurl gtk:; read -n 1"
    own = {"XDG_ACTIVATION_TOKEN": "of foot", "DESKTOP_STARTUP_ID": "of foot"}
    desk.session.start("foot", "bash", "-c", command, environment=own)
    desk.wait(CALLER, active=False)
    desk.compositor.press("foot", "x")
    arrived = desk.wait(id, url=None)
    has_focus = bool(desk.wait(id, 1, active=True))
    yield "foot to gtk", expected, f"token {places(None, arrived)}, {'the' if has_focus else 'no'} focus"


for compositor, packages in [(Mutter, ["mutter", "foot"]), (Sway, ["sway", "wtype", "foot"]), (KWin, ["kwin-wayland"])]:
    check(f"Wayland, {compositor.__name__}", *PACKAGES, *packages, limit=120)(focus(compositor))
