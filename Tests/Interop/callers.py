"""Programs that call the router's interfaces directly."""

from session import ESCAPES, SCHEME, check

ROUTER = ["org.openurl.Router1", "/org/openurl/Router1"]
PYTHON = """
import dbus, sys
router = dbus.SessionBus().get_object("org.openurl.Router1", "/org/openurl/Router1")
print(router.OpenURL(sys.argv[1], {"timeout": 5000}, dbus_interface="org.openurl.Router1")["handler"])
"""


@check("dbus-send, Open", "dbus")
def dbus_send(session):
    session.begin()
    command = ["dbus-send", "--session", "--print-reply=literal", f"--dest={ROUTER[0]}", ROUTER[1]]
    for what, url in ESCAPES.items():
        run = session.run(*command, "org.openurl.Router1.Open", f"string:{url}")
        yield session.opened(what, url, run)
    run = session.run(*command, "org.openurl.Router1.Open", "string:nobody-claims-this:1")
    yield "scheme without a handler", "Error org.openurl.Error.NoHandler", run.errors.partition(":")[0]


@check("qdbus, Open", "qdbus-qt5")
def qdbus(session):
    session.begin()
    yield from session.open_escapes("qdbus", *ROUTER, "org.openurl.Router1.Open")


@check("gdbus, OpenURL", "libglib2.0-bin")
def gdbus(session):
    session.begin()
    command = ["gdbus", "call", "--session", "--dest", ROUTER[0], "--object-path", ROUTER[1], "--method"]
    url = f"{SCHEME}:?gdbus"
    yield session.opened("plain", url, session.run(*command, "org.openurl.Router1.OpenURL", url, "{}"))


@check("busctl, OpenURL", "systemd")
def busctl(session):
    session.begin()
    url = f"{SCHEME}:?busctl"
    command = ["busctl", "--user", "call", *ROUTER, "org.openurl.Router1", "OpenURL", "sa{sv}", url]
    yield session.opened("timeout as a uint32", url, session.run(*command, "1", "timeout", "u", "5000"))


@check("dbus-python, OpenURL", "python3-dbus")
def dbus_python(session):
    session.begin()
    url = f"{SCHEME}:?dbus-python"
    yield session.opened("timeout as an int32", url, session.run("python3", "-c", PYTHON, url))
