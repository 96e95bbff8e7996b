"""A program waits for the URLs of others as if they were its callbacks."""

import json, os, plistlib
from attack import *
from deputy import bad_call
from sandboxes import APPLICATION, flatpak

CALLBACKS = "org.openurl.Callbacks1"


def taken(session, handler, answer):
    """Opens a URL of the victim. Returns whether the URL goes elsewhere, and the facts."""
    run = session.run("openurl", f"{SCHEME}://secret/?{SECRET}", limit=25)
    got = any(SECRET in url for url in handler.urls())
    return not got, f"Request: {answer}, the user's openurl: status {run.status}, the handler has the URL: {got}"


def exported(session):
    """Begins a session in which the desktop entry of the Flatpak names the scheme of the user's default handler."""
    session.begin()
    entry = f"{session.environment['XDG_DATA_HOME']}/applications/{APPLICATION}.desktop"
    os.makedirs(os.path.dirname(entry), exist_ok=True)
    with open(entry, "w") as file:
        file.write("[Desktop Entry]\nType=Application\nName=Evil\nExec=/bin/true %u\n"
                   f"MimeType=x-scheme-handler/{SCHEME};\n")
    handler = session.python().start()
    run = session.run("openurl", "default", SCHEME, VICTIM)
    if run.status != 0:
        raise RuntimeError(f"openurl default: {run} {run.errors}")
    claimants = lambda: session.bus.call(REGISTRY, "ListSchemes")[0].get(SCHEME, [])
    if not wait_until(lambda: f"{APPLICATION}.desktop" in claimants(), 10):
        raise RuntimeError(f"the entry of the Flatpak counts for nothing: {claimants()}")
    return handler


@attack("claims", "waits for the URLs of a scheme that its exported desktop entry names too")
def entry(session):
    handler = exported(session)
    answer = flatpak(session).call(CALLBACKS, "Request", "ssa{sv}", "", SCHEME, {"timeout": ["u", 86_400_000]})
    return taken(session, handler, said(answer))


@attack("claims", "waits for the URLs of a scheme that it may open")
def allowed(session):
    session.begin()
    handler = session.python().start()
    for rule in [["allow", "--source", APPLICATION, SCHEME], ["deny", "--source", APPLICATION, f"{SCHEME}://secret"]]:
        run = session.run("openurl", "policy", *rule)
        if run.status != 0:
            raise RuntimeError(f"openurl policy: {run} {run.errors}")
    answer = flatpak(session).call(CALLBACKS, "Request", "ssa{sv}", "", SCHEME, {})
    return taken(session, handler, said(answer))


@attack("claims", "waits, as the second handler of a scheme, for the URLs of the first one")
def second(session):
    session.begin()
    handler = session.python().start()
    bad = session.python("com.example.bad", SCHEME, "calls")
    run = session.run("openurl", "activate", bad.id)
    if run.status != 0:
        raise RuntimeError(f"openurl activate: {run} {run.errors}")
    return taken(session, handler, short(bad_call(session, bad, CALLBACKS, "Request", "ssa{sv}", ["", SCHEME, {}]), 60))


@attack("claims", "takes the name of a program of `openurl run` that has the same interpreter")
def interpreter(session):
    session.begin()
    id, log = "com.example.claimed", f"{session.root}/stranger.log"
    # The program of the claim never takes its name.
    session.start("openurl", "run", "--claim", "claimed", "--handler", id, "--", PYTHON, "-c", "import time; time.sleep(60)")
    if not wait_until(lambda: id in session.bus.call(REGISTRY, "ListSchemes")[0].get("claimed", []), 10):
        raise RuntimeError("the claim does not begin")
    stranger = session.start("setsid", PYTHON, "-B", f"{HERE}/handler.py", id, log)
    wait_until(lambda: session.owner(id) is not None, 10)
    run = session.run("openurl", f"claimed:?{SECRET}", limit=25)
    got = os.path.exists(log) and SECRET in open(log).read()
    return got or run.status == 0, f"openurl: status {run.status}, the stranger has the URL: {got}"


@attack("claims", "hands URLs to a handler that takes none from sandboxes, through its desktop entry")
def desktop_entry(session):
    session.begin()
    applications = f"{session.environment['XDG_DATA_HOME']}/applications"
    os.makedirs(applications, exist_ok=True)
    with open(f"{applications}/{VICTIM}.desktop", "w") as file:
        file.write("[Desktop Entry]\nType=Application\nName=Victim\nDBusActivatable=true\nExec=/bin/true %u\n")
    handler = session.swift(VICTIM, SCHEME, OUReach="local").start()
    path = session.manifest("com.example.deputy", ["deputy", SCHEME], "/bin/true")
    with open(path, "rb") as file:
        manifest = plistlib.load(file)
    del manifest["CFBundleExecutable"], manifest["OUArguments"]
    with open(path, "wb") as file:
        plistlib.dump(manifest | {"OUDesktopEntry": f"{VICTIM}.desktop"}, file)
    run = session.register_path(path)
    caller = flatpak(session)
    answers = [said(caller.open(url, {"handler": ["s", "com.example.deputy"]}))
               for url in [f"{SCHEME}:?{SECRET}", f"deputy:?{SECRET}"]]
    got = any(SECRET in url for url in handler.urls())
    return got, f"register: status {run.status}, the sandbox: {answers}, the handler has the URL: {got}"
