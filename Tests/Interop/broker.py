"""dbus-broker in place of dbus-daemon.

dbus-broker starts services through systemd alone. A stand-in for systemd on the bus starts the commands of the units.
"""

import os, socket
from session import ESCAPES, HERE, Skip, check, wait_until

SECOND = "com.example.second"


def start_broker(session):
    """Starts dbus-broker-launch with its listening socket, as systemd does, and the stand-in for systemd."""
    path = f"{session.root}/run/bus"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    # The launcher does not start without the journal.
    os.mkdir(f"{session.root}/journal")
    session.journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    session.journal.bind(f"{session.root}/journal/socket")
    wrapper = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/run",
               "--bind", f"{session.root}/journal", "/run/systemd/journal"]
    if session.run(*wrapper, "true").status:
        raise Skip("bwrap cannot create a namespace here")
    command = 'export LISTEN_FDS=1 LISTEN_PID=$$; exec dbus-broker-launch --scope user 3<&"$0"'
    session.start(*wrapper, "bash", "-c", command, str(listener.fileno()), pass_fds=[listener.fileno()])
    session.environment["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={path}"


@check("dbus-broker", "dbus-broker", "bubblewrap", "libglib2.0-bin", "python3-dbus", "python3-gi")
def broker(session):
    start_broker(session)
    session.first_line("python3", f"{HERE}/systemd.py")
    session.start("openurld")
    wait_until(lambda: session.run("openurl", "list").status == 0)
    session.register()
    yield from session.open_escapes("openurl")
    yield session.opened("gio open", ESCAPES["%20"], session.run("gio", "open", ESCAPES["%20"]))
    # The name of this handler appears after the start of the bus.
    opened = session.register_swift(SECOND, "second")
    for what in ["cold", "warm"]:
        url = f"second:?{what}"
        run = session.run("gapplication", "launch", SECOND, url)
        yield f"activation of a name published later, {what}", f"{url}, status 0", f"{opened()}, {run}"
