"""A real Flatpak: an application with a runtime of its own, installed for the user from a repository in the session."""

import json, os, re, shutil, subprocess
from session import check, wait_until

PACKAGES = ["flatpak", "ostree", "xdg-dbus-proxy", "libglib2.0-bin", "xdg-desktop-portal"]
ID = "com.example.boxed"
RUNTIME = "org.example.Platform/x86_64/1"
APPLICATION = f"""[Application]
name={ID}
runtime={RUNTIME}
sdk={RUNTIME}
command=testhandler

[Context]
filesystems={{root}};

[Session Bus Policy]
org.openurl.Router1=talk
"""


def copy(program, files):
    """Copies a program, and the shared libraries that it needs, into the files of a runtime."""
    needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    # The runtime becomes /usr, and /lib, /lib64 and /bin lead into it.
    for path in re.findall(r"(/lib\S+)", needed):
        os.makedirs(files + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, files + path)
    os.makedirs(f"{files}/bin", exist_ok=True)
    shutil.copy(program, f"{files}/bin")


def install(session):
    """Makes the runtime and the application, and installs both."""
    root = f"{session.root}/flatpak"
    runtime, application = f"{root}/runtime", f"{root}/application"
    for program in [f"{session.programs}/testhandler", "/bin/sh", "/usr/bin/gdbus"]:
        copy(program, f"{runtime}/files")
    os.makedirs(f"{runtime}/files/etc")
    os.makedirs(f"{application}/files/bin")
    os.makedirs(f"{application}/export")
    with open(f"{runtime}/metadata", "w") as file:
        file.write(f"[Runtime]\nname=org.example.Platform\nruntime={RUNTIME}\nsdk={RUNTIME}\n")
    with open(f"{application}/metadata", "w") as file:
        file.write(APPLICATION.format(root=session.root))
    for command in [
        ["ostree", f"--repo={root}/repository", "init", "--mode=archive-z2"],
        ["flatpak", "build-export", "--runtime", "--files=files", f"{root}/repository", runtime, "1"],
        ["flatpak", "build-export", f"{root}/repository", application],
        ["flatpak", "--user", "remote-add", "--no-gpg-verify", "local", f"file://{root}/repository"],
        ["flatpak", "--user", "install", "-y", "--noninteractive", "local", ID],
    ]:
        run = session.run(*command, limit=60)
        if run.status:
            raise RuntimeError(f"{' '.join(command[:2])}: {run}")


def register(session):
    """Registers the application as a handler. Returns a function that returns the last URL that it got."""
    log = f"{session.root}/{ID}.log"
    session.register(ID, "boxed", shutil.which("flatpak"), ["run", ID, ID, log])

    def last():
        lines = open(log).read().splitlines() if os.path.exists(log) else []
        return ([line.partition(" ")[2] for line in lines if line.startswith("open ")] or ["nothing"])[-1]

    return last


def status(session):
    return json.loads(session.run("openurl", "status", "--json", ID).output)


def program(session):
    """Returns the name of the process that the router takes for the handler."""
    with open(f"/proc/{status(session)['pid']}/comm") as file:
        return file.read().strip()


@check("Flatpak, application that a person has opened", *PACKAGES, limit=120)
def opened_by_hand(session):
    session.start_bus()
    install(session)
    last = register(session)
    session.start("flatpak", "run", ID, ID, f"{session.root}/{ID}.log")
    owner = ["gdbus", "call", "--session", "--dest", "org.freedesktop.DBus", "--object-path", "/", "--method",
             "org.freedesktop.DBus.NameHasOwner", ID]
    wait_until(lambda: "true" in session.run(*owner).output)
    run = session.run("openurl", "boxed:?menu")
    yield "openurl", "boxed:?menu, status 0", f"{last()}, {run}"
    yield "process", "testhandler", program(session)
    session.run("gio", "open", "boxed:?gio")
    yield "gio open", "boxed:?gio", wait_until(lambda: last() == "boxed:?gio" and last()) or last()
    call = ["gdbus", "call", "--session", "--dest", "org.openurl.Router1", "--object-path", "/org/openurl/Router1",
            "--method", "org.openurl.Router1.OpenURL", "boxed:?sandbox", "{}"]
    run = session.run("flatpak", "run", "--command=gdbus", ID, *call[1:])
    yield "gdbus in a second sandbox", "boxed:?sandbox, status 0", f"{last()}, {run}"
    log = json.loads(session.run("openurl", "log", "--json", "--limit", "1").output)
    yield "its sender", f"sandboxed {ID}", f"{log['class']} {log['source']}"


@check("Flatpak, application that the router starts", *PACKAGES, limit=120)
def started_by_the_router(session):
    session.start_bus()
    install(session)
    last = register(session)
    run = session.run("openurl", "boxed:?launch")
    yield "launch", "boxed:?launch, status 0", f"{last()}, {run}"
    yield "process", "testhandler", program(session)
    run = session.run("openurl", "suspend", ID)
    yield "suspend", "suspended, status 0", f"{status(session)['state']}, {run}"
    run = session.run("openurl", "boxed:?wake")
    yield "URL to the suspended application", "boxed:?wake, status 0", f"{last()}, {run}"
    run = session.run("openurl", "terminate", ID)
    yield "terminate", "notRunning, status 0", f"{status(session)['state']}, {run}"
