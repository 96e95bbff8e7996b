"""`xdg-open` of xdg-utils, in each desktop that it knows.

`xdg-open` asks the desktop's own program to open a URL, and does that itself if the program is missing.
"""

import os
from session import check, wait_until

# The desktop, the variables that select it, and the programs that xdg-open runs there.
DESKTOPS = [
    ("generic", {"XDG_CURRENT_DESKTOP": "X-Generic"}, []),
    ("GNOME", {"XDG_CURRENT_DESKTOP": "GNOME"}, ["gio"]),
    ("Cinnamon", {"XDG_CURRENT_DESKTOP": "X-Cinnamon"}, ["gio"]),
    ("MATE", {"XDG_CURRENT_DESKTOP": "MATE"}, ["gio"]),
    ("Xfce", {"XDG_CURRENT_DESKTOP": "XFCE"}, ["exo-open"]),
    ("Xfce without exo-open", {"XDG_CURRENT_DESKTOP": "XFCE"}, ["gio"]),
    ("LXDE", {"XDG_CURRENT_DESKTOP": "LXDE"}, []),
    ("LXQt", {"XDG_CURRENT_DESKTOP": "LXQt"}, []),
    ("Enlightenment", {"XDG_CURRENT_DESKTOP": "ENLIGHTENMENT"}, []),
    ("Deepin", {"XDG_CURRENT_DESKTOP": "Deepin"}, []),
    ("KDE", {"XDG_CURRENT_DESKTOP": "KDE", "KDE_SESSION_VERSION": "5"}, ["kde-open5"]),
]
HELPERS = ["gio", "exo-open", "enlightenment_open", "dde-open", "kde-open5"]
PACKAGES = ["xdg-utils", "libglib2.0-bin", "exo-utils", "kde-cli-tools", "xvfb"]


def without(session, helpers):
    """Returns a PATH on which the programs are missing: in their place are programs that only fail, as a shell does."""
    directory = f"{session.root}/without-{'-'.join(helpers)}"
    os.mkdir(directory)
    for helper in helpers:
        with open(f"{directory}/{helper}", "w") as file:
            file.write("#!/bin/sh\nexit 127\n")
        os.chmod(f"{directory}/{helper}", 0o755)
    return {"PATH": f"{directory}:{session.environment['PATH']}"}


def declare(desktop, variables, helpers):
    @check(f"xdg-open in {desktop}", *PACKAGES, limit=90)
    def opens(session):
        session.start_display()
        session.begin()
        path = without(session, [helper for helper in HELPERS if helper not in helpers])
        yield from session.open_escapes("xdg-open", environment=variables | path)


@check("xdg-open and gio open, first click after the installation", "xdg-utils", "libglib2.0-bin", "xvfb")
def first_click(session):
    """The router has never run: the installed entry alone leads to the handler."""
    session.start_display()
    session.start_bus()
    for number, command in enumerate([["xdg-open"], ["gio", "open"]]):
        # `xdg-open` would start a browser for a scheme without a handler.
        run = session.run(*command, f"todolist:?Click%20{number}", environment={"BROWSER": "true"})
        listed = wait_until(lambda: f"Click {number}" in session.run("todolist", "list").output, 10)
        yield " ".join(command), "in the list, status 0", f"{'in' if listed else 'not in'} the list, {run}"


for desktop in DESKTOPS:
    declare(*desktop)
