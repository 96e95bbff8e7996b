"""The OpenURI portal, called from a sandbox that is made as Flatpak makes one.

The sandbox has Flatpak's file of the application, and xdg-dbus-proxy as its bus. `flatpak.py` checks the real Flatpak.
"""

import os
from session import ESCAPES, HANDLER, SCHEME, Skip, check, wait_until

PACKAGES = ["xdg-desktop-portal", "xdg-desktop-portal-gtk", "xdg-dbus-proxy", "bubblewrap", "xvfb", "xdotool",
            "libglib2.0-bin", "xdg-utils"]
APPLICATION = "org.example.Sandboxed"
INFO = f"""[Application]
name={APPLICATION}
runtime=runtime/org.example.Platform/x86_64/1

[Instance]
instance-id=1
"""


class Sandbox:
    def __init__(self, session):
        self.session = session
        with open(f"{session.root}/info", "w") as file:
            file.write(INFO)
        if self.enter("true").status:
            raise Skip("bwrap cannot create a namespace here")
        read, write = os.pipe()
        session.start(*self.command, "xdg-dbus-proxy", f"--fd={write}", session.environment["DBUS_SESSION_BUS_ADDRESS"],
                      f"{session.root}/run/proxy", "--filter", "--talk=org.freedesktop.portal.*", pass_fds=[write])
        os.close(write)
        os.read(read, 1)

    @property
    def command(self):
        root = self.session.root
        command = ["bwrap", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev",
                   "--bind", root, root, "--ro-bind", self.session.prefix, self.session.prefix,
                   "--ro-bind", f"{root}/info", "/.flatpak-info", "--ro-bind", f"{root}/info", f"{root}/run/flatpak-info"]
        for name in ["bin", "lib", "lib64"]:
            command += ["--symlink", f"usr/{name}", f"/{name}"]
        return command

    @property
    def environment(self):
        root = self.session.root
        return {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={root}/run/proxy", "XDG_DATA_HOME": f"{root}/sandbox",
                "XDG_DATA_DIRS": "/usr/share"}

    def enter(self, *command, **environment):
        """Runs a program in the sandbox, which sees none of the session's desktop entries."""
        return self.session.run(*self.command, *command, environment=environment | self.environment)

    def start(self, *command, **options):
        """Starts a program in the sandbox."""
        return self.session.start(*self.command, *command, environment=self.environment, **options)


OPEN = ["gdbus", "call", "--session", "--dest", "org.freedesktop.portal.Desktop",
        "--object-path", "/org/freedesktop/portal/desktop", "--method", "org.freedesktop.portal.OpenURI.OpenURI", ""]


@check("OpenURI portal", *PACKAGES, limit=90)
def portal(session):
    session.start_display()
    session.begin()
    sandbox = Sandbox(session)
    for what, url in ESCAPES.items():
        yield session.opened(f"gdbus call, {what}", url, sandbox.enter(*OPEN, url, "{}"))
    for command in [["gio", "open"], ["xdg-open"]]:
        yield session.opened(" ".join(command), ESCAPES["%20"], sandbox.enter(*command, ESCAPES["%20"]))
    sandbox.enter(*OPEN, f"{SCHEME}:?token", "{'activation_token': <'token'>}")
    arrival = session.arrival()
    yield "activation-token", "token", arrival["context"].get("activation-token", "none")
    yield session.sender(arrival, "xdg-desktop-portal")


@check("OpenURI portal, dialog", *PACKAGES, limit=90)
def dialog(session):
    session.start_display()
    session.begin()
    other = "com.example.other"
    session.register(other)
    session.run("openurl", "default", SCHEME, other)
    sandbox = Sandbox(session)
    window = ["--onlyvisible", "--name", "Open With"]

    def ask(url, *keys):
        """Opens a URL, and answers the dialog with keys.

        Returns the URL that arrives before the answer, the handler that gets a URL after it, and the dialog's state.
        """
        sandbox.enter(*OPEN, url, "{'ask': <true>}")
        session.run("xdotool", "search", "--sync", *window, "windowfocus", "--sync")
        before = session.url(1)
        session.run("xdotool", "key", *keys)
        arrival = session.arrival(3 if keys == ("Escape",) else 30)
        is_closed = wait_until(lambda: session.run("xdotool", "search", *window).status != 0)
        return before, arrival["id"], "closed" if is_closed else "open"

    yield "before an answer and after a cancellation", ("nothing", "no handler", "closed"), ask(f"{SCHEME}:?cancelled", "Escape")
    # The dialog has chosen the default handler, and lists the other handler below.
    yield "before an answer, and the default picked", ("nothing", other, "closed"), ask(f"{SCHEME}:?default", "Return")
    yield "before an answer, and the other picked", ("nothing", HANDLER, "closed"), ask(f"{SCHEME}:?picked", "Down", "Return")
