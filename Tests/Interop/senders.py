"""The program that a URL comes from, when it comes through openurl's own entry, `xdg-open` or chooser of the portal.

Each program is started by a shell, which is the sender that the router has to find.
"""

import os, subprocess
from collections import Counter
from portal import APPLICATION, OPEN, PACKAGES as PORTAL_PACKAGES, Sandbox
from session import ESCAPES, SCHEME, check
from xdg_open import DESKTOPS, PACKAGES

RUNS = 20
SANDBOXED_RUNS = 100
SHELL = os.path.realpath("/bin/sh")
# Opens a link through the portal, and keeps its connection until its input ends.
LASTING = """
import dbus, sys
portal = dbus.SessionBus().get_object("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop", introspect=False)
portal.OpenURI("", sys.argv[1], dbus.Dictionary(signature="sv"), dbus_interface="org.freedesktop.portal.OpenURI")
sys.stdin.read()
"""


def senders(session, *command, environment={}, runs=RUNS):
    """Opens URLs with a program that a shell starts. Returns how often each sender was seen."""
    seen = Counter()
    for number in range(runs):
        session.run("sh", "-c", '"$@"; :', "sh", *command, f"{SCHEME}:?{number}", environment=environment)
        source = session.arrival(5)["context"]["source"]
        is_known = source.get("executable") == SHELL and not source.get("intermediary")
        seen["the shell" if is_known else "unknown"] += 1
    return dict(seen)


ALL = {"the shell": RUNS}


@check("sender of gio open, openurl's entry", "libglib2.0-bin")
def gio(session):
    session.begin()
    yield "before the entry was chosen", {"unknown": RUNS}, senders(session, "gio", "open")
    session.choose_router()
    yield "senders", ALL, senders(session, "gio", "open")
    yield from session.open_escapes("gio", "open")


@check("sender of xdg-open, openurl's entry", *PACKAGES, limit=120)
def xdg_open(session):
    session.start_display()
    session.begin()
    session.choose_router()
    for desktop, variables, helpers in DESKTOPS:
        # exo-open and kde-open5 do not wait for the router.
        if helpers in ([], ["gio"]) and "Xfce" not in desktop:
            yield desktop, ALL, senders(session, "xdg-open", environment=variables)


@check("sender of openurl's xdg-open", *PACKAGES, limit=120)
def own_xdg_open(session):
    session.start_display()
    session.begin()
    for desktop, variables, _ in DESKTOPS:
        yield desktop, ALL, senders(session, f"{session.prefix}/libexec/openurl/xdg-open", environment=variables)


@check("sender behind the portal, openurl chooses", *PORTAL_PACKAGES, "python3-dbus", limit=180)
def portal(session):
    session.start_display()
    session.serve_portal()
    session.begin()
    sandbox = Sandbox(session)
    for what, url in ESCAPES.items():
        yield session.opened(f"gdbus call, {what}", url, sandbox.enter(*OPEN, url, "{}"))
    seen = Counter()
    for number in range(RUNS):
        program = sandbox.start("python3", "-c", LASTING, f"{SCHEME}:?lasting{number}", stdin=subprocess.PIPE)
        source = session.arrival()["context"]["source"]
        seen[f"{source.get('class')} {source.get('application')}"] += 1
        program.communicate()
    yield "sandboxed links of a program that is still running", {f"sandboxed {APPLICATION}": RUNS}, dict(seen)
    seen = Counter()
    for number in range(SANDBOXED_RUNS):
        sandbox.enter(*OPEN, f"{SCHEME}:?{number}", "{}")
        source = session.arrival()["context"]["source"]
        seen[f"{source.get('class')} {source.get('application')}"] += 1
    # gdbus may have exited before the router asks who it is.
    others = {name for name in seen if name not in [f"sandboxed {APPLICATION}", "unknown None"]}
    yield f"other senders of {SANDBOXED_RUNS} sandboxed links", set(), others
    session.run(*OPEN, f"{SCHEME}:?host", "{}")
    source = session.arrival()["context"]["source"]
    seen = "gdbus" if os.path.basename(source.get("executable", "")) == "gdbus" else source.get("intermediary")
    yield "link without a sandbox", True, seen in ["gdbus", True]
    session.run("openurl", "policy", "deny", "--source", APPLICATION, SCHEME)
    sandbox.enter(*OPEN, f"{SCHEME}:?denied", "{}")
    yield "link that a rule for the sandbox denies", "nothing", session.url(2)
