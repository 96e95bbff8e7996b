"""KDE's programs that open URLs.

KIO decodes escapes before it starts a handler: a space and non-ASCII characters arrive as themselves. openurl escapes them again.
"""

from session import HANDLER, SCHEME, check

KDE = {"XDG_CURRENT_DESKTOP": "KDE", "KDE_SESSION_VERSION": "5", "KDE_FULL_SESSION": "true"}
PACKAGES = ["kde-cli-tools", "xvfb"]


@check("kde-open5", *PACKAGES)
def kde_open(session):
    session.start_display()
    session.begin()
    yield from session.open_escapes("kde-open5", environment=KDE)
    yield session.token("kde-open5", environment=KDE)


@check("kioclient5 exec", *PACKAGES)
def kioclient(session):
    session.start_display()
    session.begin()
    yield from session.open_escapes("kioclient5", "exec", environment=KDE)


@check("kde-open5, entry with DBusActivatable", *PACKAGES)
def activation(session):
    """The router itself is the scheme's application, and its entry asks for D-Bus activation.

    KIO 5.103 runs the command of such an entry when there is a URL.
    """
    session.start_display()
    session.begin()
    session.choose("org.openurl.Router1.desktop")
    yield from session.open_escapes("kde-open5", environment=KDE)
