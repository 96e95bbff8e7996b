"""Variables and descriptors that are not meant for handlers."""

import os
from attack import *

# The variables that systemd and the bus set for one process (systemd.exec(5), sd_notify(3), dbus-daemon(1)).
OWN = ["NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "LISTEN_PIDFDID", "INVOCATION_ID", "JOURNAL_STREAM",
       "WATCHDOG_PID", "WATCHDOG_USEC", "MAINPID", "MANAGERPID", "SYSTEMD_EXEC_PID", "CREDENTIALS_DIRECTORY", "FDSTORE",
       "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CACHE_DIRECTORY",
       "LOGS_DIRECTORY", "CONFIGURATION_DIRECTORY", "EXIT_CODE", "EXIT_STATUS", "SERVICE_RESULT", "TRIGGER_UNIT",
       "TRIGGER_PATH", "MONITOR_SERVICE_RESULT", "REMOTE_ADDR", "REMOTE_PORT", "PIDFILE", "DBUS_STARTER_ADDRESS",
       "DBUS_STARTER_BUS_TYPE", "SYSTEMD_NSS_BYPASS_BUS", "NOTIFY_FD"]


def variables(pid):
    with open(f"/proc/{pid}/environ", errors="replace") as file:
        return dict(entry.partition("=")[::2] for entry in file.read().split("\0") if entry)


def of_router():
    # A number of descriptors that belongs to another process is ignored by the router itself.
    return {name: "evil" for name in OWN} | {"LISTEN_PID": "1", "WATCHDOG_PID": "1"}


@attack("environment", "finds variables of the router's own unit in a handler")
def unit(session):
    session.begin()
    session.start_router(of_router())
    handler = session.swift().start()
    found = [name for name in OWN if variables(handler.pid).get(name) in ["evil", "1"]]
    return bool(found), f"in the handler: {' '.join(found) or 'none'} of {len(OWN)}"


@attack("environment", "finds variables of the router's own unit in the command of an application")
def unit_command(session):
    session.begin()
    session.start_router(of_router())
    application(session, f"sh -c 'env > {session.root}/environment' x %u")
    session.run("openurl", "application:x")
    wait_until(lambda: lines(f"{session.root}/environment"), 5)
    text = lines(f"{session.root}/environment")
    found = [name for name in OWN if f"{name}=evil" in text or f"{name}=1" in text]
    return bool(found) or not text, f"in the command: {' '.join(found) or 'none'} of {len(OWN)}"


def application(session, command):
    with open(f"{session.root}/data/applications/application.desktop", "w") as file:
        file.write(f"[Desktop Entry]\nType=Application\nName=x\nExec={command}\nMimeType=x-scheme-handler/application;\n")
    wait_until(lambda: session.run("openurl", "can-open", "application:x").status == 0, 5)


@attack("environment", "finds variables of the activation by the bus in a handler")
def activation(session):
    session.begin()
    handler = session.swift().start()
    found = [name for name in variables(handler.pid) if name.startswith("DBUS_STARTER")]
    return bool(found), f"in the handler: {' '.join(found) or 'none'}"


@attack("environment", "passes a library and paths to a handler through its own variables")
def caller(session):
    session.begin()
    handler = session.swift()
    evil = {"LD_PRELOAD": "/evil.so", "LD_LIBRARY_PATH": "/evil", "PYTHONPATH": "/evil", "BASH_ENV": "/evil", "GTK_MODULES": "evil",
            "QT_PLUGIN_PATH": "/evil", "XDG_DATA_DIRS": "/evil", "HOME": "/evil", "PATH": f"{session.prefix}/bin:/evil"}
    run = session.run("openurl", f"{SCHEME}:x", environment=evil)
    found = [name for name, value in variables(handler.pid).items() if "evil" in value and name in evil and session.root not in value]
    return bool(found), f"open: {run}, in the handler: {' '.join(found) or 'none'}"


@attack("environment", "passes variables to a handler through the tokens of the focus")
def tokens(session):
    session.begin()
    handler = session.swift()
    evil = "x\nLD_PRELOAD=/evil.so"
    said = attempt(lambda: session.bus.open(f"{SCHEME}:x", {"activation-token": ("s", evil), "desktop-startup-id": ("s", evil)}))
    with open(f"/proc/{handler.pid}/environ", "rb") as file:
        found = b"\0LD_PRELOAD" in file.read()
    return found, f"open: {said}"


@attack("environment", "finds open descriptors of the router in a handler")
def descriptors(session):
    session.begin()
    session.run("openurl", "--queue", "zzz:x")
    handler = session.python().start()
    names = [os.readlink(f"/proc/{handler.pid}/fd/{number}") for number in os.listdir(f"/proc/{handler.pid}/fd")]
    router = {os.readlink(f"/proc/{session.router}/fd/{number}") for number in os.listdir(f"/proc/{session.router}/fd")}
    found = [name for name in names if name in router and not name.startswith(("/dev/null", session.log.name))]
    found = [name for name in found if "/output/" not in name]
    return bool(found), f"shared with the router: {' '.join(found) or 'none'}"


@attack("environment", "finds signals ignored or blocked in a handler")
def signals(session):
    session.begin()
    handler = session.python().start()
    with open(f"/proc/{handler.pid}/status") as file:
        masks = dict(line.split(":\t") for line in file.read().splitlines() if line.startswith(("SigBlk", "SigIgn")))
    # Python itself ignores SIGPIPE and SIGXFSZ. The C library has the signals above 31 for itself.
    ignored = int(masks["SigIgn"], 16) & 0x7fffffff & ~(1 << 12 | 1 << 24)
    return bool(ignored or int(masks["SigBlk"], 16)), f"blocked {masks['SigBlk']}, ignored {masks['SigIgn']}"
