"""xdg-dbus-proxy, which stands between the session bus and each program of a Flatpak."""

import json, os
from collections import Counter
from session import SCHEME, check

RUNS = 200
BEHIND = "com.example.behind"
# A program that starts as `flatpak run` starts one: with a proxy of its own, which is the program's bus. The proxy writes a byte
# when it listens, and ends with the last reader.
BEHIND_PROXY = """#!/bin/bash
exec {{ready}}< <(exec xdg-dbus-proxy --fd=1 "$DBUS_SESSION_BUS_ADDRESS" {root}/run/behind \
    --filter --own={id} --talk=org.openurl.Router1)
read -r -n 1 -u "$ready"
DBUS_SESSION_BUS_ADDRESS=unix:path={root}/run/behind exec {program} "$@"
"""


def start_proxy(session, *options):
    """Starts a proxy. Returns its address."""
    path = f"{session.root}/run/proxy"
    read, write = os.pipe()
    session.start("xdg-dbus-proxy", f"--fd={write}", session.environment["DBUS_SESSION_BUS_ADDRESS"], path, *options,
                  pass_fds=[write])
    os.close(write)
    os.read(read, 1)
    # The proxy ends when nothing reads from the pipe any longer, so the pipe stays open.
    return f"unix:path={path}"


@check("xdg-dbus-proxy, openurl behind it", "xdg-dbus-proxy")
def caller(session):
    session.begin()
    through = {"DBUS_SESSION_BUS_ADDRESS": start_proxy(session, "--filter", "--talk=org.openurl.Router1")}
    problems, got = Counter(), 0
    for number in range(RUNS):
        url = f"{SCHEME}:?{number}"
        run = session.run("openurl", url, environment=through, limit=10)
        if run.status:
            problems[str(run)] += 1
        arrival = session.arrival(0 if run.status else 10)
        got += arrival["url"] == url
    yield f"{RUNS} runs, failures", "none", ", ".join(f"{count} of {text}" for text, count in problems.items()) or "none"
    yield session.sender(arrival, "openurl")
    yield f"{RUNS} runs, URLs that the handler got", RUNS, got


@check("xdg-dbus-proxy, gdbus behind it", "xdg-dbus-proxy", "libglib2.0-bin")
def gdbus(session):
    session.begin()
    url = f"{SCHEME}:?gdbus"
    command = ["gdbus", "call", "--session", "--dest", "org.openurl.Router1", "--object-path", "/org/openurl/Router1",
               "--method", "org.openurl.Router1.OpenURL", url, "{}"]
    through = {"DBUS_SESSION_BUS_ADDRESS": start_proxy(session, "--filter", "--talk=org.openurl.Router1")}
    yield session.opened("OpenURL", url, session.run(*command, environment=through))


@check("xdg-dbus-proxy, Swift handler behind it", "xdg-dbus-proxy", limit=90)
def handler(session):
    session.start_bus()
    program = f"{session.root}/behind"
    with open(program, "w") as file:
        file.write(BEHIND_PROXY.format(root=session.root, id=BEHIND, program=f"{session.programs}/testhandler"))
    os.chmod(program, 0o755)
    opened = session.register_swift(BEHIND, "behind", program)
    for what in ["launch", "running handler"]:
        url = f"behind:?{what.split()[0]}"
        run = session.run("openurl", url)
        yield what, f"{url}, status 0", f"{opened()}, {run}"
    run = session.run("openurl", "terminate", BEHIND)
    state = json.loads(session.run("openurl", "status", "--json", BEHIND).output)["state"]
    yield "openurl terminate", "notRunning, status 0", f"{state}, {run}"
