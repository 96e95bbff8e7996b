"""GLib's and GTK's programs that open URLs: `gio`, `gapplication` and `gtk-launch`."""

from session import HANDLER, SCHEME, check


@check("gio open", "libglib2.0-bin")
def gio_open(session):
    session.begin()
    yield from session.open_escapes("gio", "open")


@check("gio launch", "libglib2.0-bin")
def gio_launch(session):
    session.begin()
    command = ["gio", "launch", f"{session.root}/data/applications/{HANDLER}.desktop"]
    yield from session.open_escapes(*command)
    yield from picked(session, command)


@check("gtk-launch", "libgtk-3-bin", "xvfb")
def gtk_launch(session):
    session.start_display()
    session.begin()
    command = ["gtk-launch", HANDLER]
    yield from session.open_escapes(*command)
    yield session.token(*command)
    yield from picked(session, command)


@check("gapplication launch", "libglib2.0-bin")
def gapplication(session):
    """Calls `org.freedesktop.Application` of the handler, which the bus starts by the published service."""
    session.start_bus()
    opened = session.register_swift(HANDLER, SCHEME)
    for what in ["cold", "warm"]:
        url = f"{SCHEME}:?a%20{what}"
        run = session.run("gapplication", "launch", HANDLER, url)
        yield what, f"{url}, status 0", f"{opened()}, {run}"


def picked(session, command):
    """Launches a handler that is not the scheme's default: the user's pick gets the URL."""
    other = "com.example.other"
    session.register(other)
    session.run("openurl", "default", SCHEME, other)
    session.run("openurl", f"{SCHEME}:?default")
    yield "default handler of the scheme", other, session.arrival()["id"]
    run = session.run(*command, f"{SCHEME}:?picked")
    yield "handler that the user picked", f"{HANDLER}, status 0", f"{session.arrival()['id']}, {run}"
