"""Programs that wait for a callback, and the programs of the desktop that bring it."""

import os, subprocess
from chromium import Chromium, PACKAGES
from pages import Page
from session import check, wait_until

CALLBACK = "interop-login://auth/done?code=1&state=s1"
ENTRY = "data/applications/org.openurl.callback.desktop"


def wait(session):
    """Starts `openurl callback`, and returns it when the desktop reaches it."""
    url = "x:?redirect_uri=interop-login%3A%2F%2Fauth&state=s1"
    waiting = session.start("openurl", "callback", "--no-open", "--timeout", "60s", url, stdout=subprocess.PIPE)
    wait_until(lambda: os.path.exists(f"{session.root}/{ENTRY}"))
    return waiting


def outcome(session, waiting):
    """Returns what the command has printed, its status, and whether its entry is gone."""
    output = waiting.communicate(timeout=30)[0].decode().strip()
    gone = wait_until(lambda: not os.path.exists(f"{session.root}/{ENTRY}"))
    return f"{output}, status {waiting.returncode}, {'no entry' if gone else 'an entry is left'}"


EXPECTED = f"{CALLBACK}, status 0, no entry"


@check("callback through xdg-open and gio open", "xdg-utils", "libglib2.0-bin", "xvfb")
def openers(session):
    session.start_display()
    session.begin()
    for command in [["xdg-open"], ["gio", "open"]]:
        waiting = wait(session)
        session.run(*command, CALLBACK)
        yield " ".join(command), EXPECTED, outcome(session, waiting)


@check("callback through Chromium with a policy", *PACKAGES, "xdg-utils", limit=90)
def chromium(session):
    session.start_display()
    session.begin()
    page = Page([CALLBACK])
    browser = Chromium(session, {
        "AutoLaunchProtocolsFromOrigins": [{"protocol": "interop-login", "allowed_origins": [page.origin]}]})
    browser.open(page)
    waiting = wait(session)
    browser.click(0)
    yield "link", EXPECTED, outcome(session, waiting)
