"""The desktop's services, as python3-dbusmock has them: notifications, the login session, and what changes in a system."""

import os, time
from session import HANDLER, SCHEME, check, wait_until

PACKAGES = ["python3-dbusmock", "libglib2.0-bin"]
MOCK = "org.freedesktop.DBus.Mock"
OBSERVER = "com.example.observer"
MANIFEST = """<?xml version="1.0"?><plist version="1.0"><dict>
<key>CFBundleIdentifier</key><string>{id}</string>
<key>CFBundleExecutable</key><string>{program}</string>
<key>OUArguments</key><array><string>{id}</string><string>{log}</string></array>
<key>OUObservedChanges</key><array>
<string>timeZone</string><string>locale</string><string>powerSource</string><string>network</string>
</array>
<key>CFBundleURLTypes</key><array><dict>
<key>CFBundleURLSchemes</key><array><string>observer</string></array>
</dict></array>
</dict></plist>"""


def start_system_bus(session):
    """Starts a bus that the session takes for the system's. Call this before the session's bus starts, whose programs get its address."""
    _, address = session.first_line("dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1",
                                    f"--address=unix:path={session.root}/run/system")
    session.environment["DBUS_SYSTEM_BUS_ADDRESS"] = address
    return address


def gdbus(session, address, name, path, method, *arguments):
    run = session.run("gdbus", "call", "--address", address, "--dest", name, "--object-path", path, "--method", method, *arguments)
    if run.status:
        raise RuntimeError(f"{method}: {run}")
    return run.output


def mock(session, address, name, *command, output=None):
    """Starts a service, and waits until it has its name."""
    options = {"stdout": output} if output else {}
    session.start("/usr/bin/python3", "-m", "dbusmock", *command, **options)
    bus = "org.freedesktop.DBus"
    owner = lambda: "true" in gdbus(session, address, bus, "/org/freedesktop/DBus", f"{bus}.NameHasOwner", name)
    if not wait_until(owner):
        raise RuntimeError(f"{name} does not start")


def observe(session):
    """Registers and launches a handler that observes changes. Returns a function that returns its events."""
    log, path = f"{session.root}/observer.log", f"{session.root}/{OBSERVER}.plist"
    with open(path, "w") as file:
        file.write(MANIFEST.format(id=OBSERVER, program=f"{session.programs}/testhandler", log=log))
    for command in [["register", path], ["observer:launch"]]:
        run = session.run("openurl", *command)
        if run.status:
            raise RuntimeError(f"openurl {command}: {run}")
    return lambda: open(log).read().splitlines()


@check("python3-dbusmock, changes in the system", *PACKAGES, limit=90)
def changes(session):
    address = start_system_bus(session)
    session.start_bus()
    services = {
        "UPower": ("org.freedesktop.UPower", "/org/freedesktop/UPower", "org.freedesktop.UPower"),
        "NetworkManager": (
            "org.freedesktop.NetworkManager", "/org/freedesktop/NetworkManager", "org.freedesktop.NetworkManager"),
        "timedate1": ("org.freedesktop.timedate1", "/org/freedesktop/timedate1", "org.freedesktop.timedate1"),
        "locale1": ("org.freedesktop.locale1", "/org/freedesktop/locale1", "org.freedesktop.locale1"),
    }
    for template in ["upower", "networkmanager", "timedated"]:
        name = services[{"upower": "UPower", "networkmanager": "NetworkManager", "timedated": "timedate1"}[template]][0]
        mock(session, address, name, "--system", "--template", template)
    mock(session, address, services["locale1"][0], "--system", *services["locale1"])
    gdbus(session, address, services["locale1"][0], services["locale1"][1], f"{MOCK}.AddProperty", "org.freedesktop.locale1", "Locale",
          "<['LANG=C.UTF-8']>")
    events = observe(session)
    changed = {
        "UPower": ("powerSource", "{'OnBattery': <true>}"),
        "NetworkManager": ("network", "{'State': <uint32 20>}"),
        "timedate1": ("timeZone", "{'Timezone': <'Asia/Tokyo'>}"),
        "locale1": ("locale", "{'Locale': <['LANG=de_DE.UTF-8']>}"),
    }
    for service, (kind, properties) in changed.items():
        name, path, interface = services[service]
        gdbus(session, address, name, path, f"{MOCK}.UpdateProperties", interface, properties)
        seen = wait_until(lambda: [line for line in events() if line.startswith(f"notification {kind}")])
        yield service, f"one notification {kind}", f"{'one' if len(seen) == 1 else len(seen)} notification {kind}"


@check("python3-dbusmock, logind", *PACKAGES, limit=90)
def login(session):
    address = start_system_bus(session)
    session.start_bus()
    manager = ("org.freedesktop.login1", "/org/freedesktop/login1")
    mock(session, address, manager[0], "--system", "--template", "logind")
    gdbus(session, address, *manager, f"{MOCK}.AddSession", "auto", "seat0", str(os.getuid()), "me", "true")
    events = observe(session)
    inhibitors = lambda: gdbus(session, address, *manager, "org.freedesktop.login1.Manager.ListInhibitors")
    yield "inhibitor of an active handler", True, bool(wait_until(lambda: "sleep:shutdown" in inhibitors()))

    place = (manager[0], "/org/freedesktop/login1/session/auto")
    interface = "org.freedesktop.login1.Session"
    for locked, expected in [("true", "willResignActive"), ("false", "didBecomeActive")]:
        gdbus(session, address, *place, f"{MOCK}.UpdateProperties", interface, f"{{'LockedHint': <{locked}>}}")
        wait_until(lambda: events()[-1] == expected)
        yield f"LockedHint {locked}", expected, events()[-1]

    for start, expected in [("true", "didEnterBackground"), ("false", "didBecomeActive")]:
        gdbus(session, address, *manager, f"{MOCK}.EmitSignal", "org.freedesktop.login1.Manager", "PrepareForSleep", "b",
              f"[<{start}>]")
        wait_until(lambda: events()[-1] == expected)
        yield f"PrepareForSleep {start}", expected, events()[-1]
        if start == "true":
            wait_until(lambda: "sleep:shutdown" not in inhibitors())
            yield "inhibitor during the sleep", False, "sleep:shutdown" in inhibitors()


@check("python3-dbusmock, notifications", *PACKAGES, limit=90)
def notifications(session):
    session.begin()
    address = session.environment["DBUS_SESSION_BUS_ADDRESS"]
    name, path = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
    calls = f"{session.root}/calls"
    with open(calls, "wb") as output:
        mock(session, address, name, "--template", "notification_daemon", "--parameters", '{"capabilities": "actions body body-markup"}',
             output=output)
    shown = lambda: [line for line in open(calls).read().splitlines() if " Notify " in line]
    due = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 3))
    run = session.run("openurl", f"--at={due}", "--notify=Tea <b>now</b>", f"{SCHEME}:?tea")
    yield "openurl --at --notify", 0, run.status
    yield "notifications before the time", 0, len(shown())
    wait_until(shown)
    text = "Tea &lt;b&gt;now&lt;/b&gt;"
    yield "notification at the time", f"one with {text}", f"one with {text}" if len(shown()) == 1 and text in shown()[0] else shown()
    gdbus(session, address, name, path, f"{MOCK}.EmitSignal", name, "ActionInvoked", "us", "[<uint32 1>, <'default'>]")
    yield "click", f"{SCHEME}:?tea for {HANDLER}", "{url} for {id}".format(**session.arrival())
