"""Chromium: links on a page, with a policy that allows them, and with the dialog that asks the user.

Chromium asks the OpenURI portal to open a URL, and runs `xdg-open` if there is no portal.
"""

import itertools, json, os
from pages import Page
from session import ESCAPES, SCHEME, Skip, check, wait_until

PACKAGES = ["chromium", "xvfb", "xdotool", "bubblewrap"]
OPTIONS = ["--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
           "--password-store=basic", "--window-size=900,700", "--remote-debugging-pipe"]


class Chromium:
    """Chromium with one tab, driven by the DevTools protocol.

    - policy: the contents of a policy file, which only this Chromium sees.
    - options: more options of the command line.
    """

    def __init__(self, session, policy=None, options=()):
        command = ["chromium", *OPTIONS, *options, f"--user-data-dir={session.root}/chromium", "about:blank"]
        if policy:
            os.makedirs(f"{session.root}/policies/managed")
            with open(f"{session.root}/policies/managed/interop.json", "w") as file:
                json.dump(policy, file)
            wrapper = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/etc/chromium",
                       "--ro-bind", f"{session.root}/policies", "/etc/chromium/policies"]
            if session.run(*wrapper, "true").status:
                raise Skip("bwrap cannot create a namespace here")
            command = wrapper + command
        # Chromium reads its commands from descriptor 3, and writes the answers to descriptor 4.
        read, self.output = os.pipe()
        self.input, write = os.pipe()
        session.start("bash", "-c", f'exec "$@" 3<&{read} 4>&{write}', "chromium", *command, pass_fds=[read, write])
        os.close(read)
        os.close(write)
        self.numbers, self.rest, self.tab = itertools.count(1), b"", None
        # The targets of a browser that starts appear one after the other.
        tab = self.first = wait_until(self.pages)[0]
        self.tab = self.call("Target.attachToTarget", targetId=tab["targetId"], flatten=True)["sessionId"]
        self.call("Page.enable")

    def pages(self):
        """Returns the open tabs."""
        return [target for target in self.call("Target.getTargets")["targetInfos"] if target["type"] == "page"]

    def close_other_tabs(self):
        """Closes the tabs that other programs have opened."""
        for target in self.pages():
            if target["targetId"] != self.first["targetId"]:
                self.call("Target.closeTarget", targetId=target["targetId"])

    def call(self, method, **parameters):
        """Sends a command, and returns its answer."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.tab and not method.startswith("Target."):
            message["sessionId"] = self.tab
        os.write(self.output, json.dumps(message).encode() + b"\0")
        return self.message(lambda message: message.get("id") == number)["result"]

    def message(self, matches):
        """Reads messages up to one that matches."""
        while True:
            while b"\0" not in self.rest:
                data = os.read(self.input, 1 << 16)
                if not data:
                    raise RuntimeError("Chromium has ended")
                self.rest += data
            text, _, self.rest = self.rest.partition(b"\0")
            message = json.loads(text)
            if matches(message):
                return message

    def open(self, page):
        self.call("Page.navigate", url=page.origin)
        self.message(lambda message: message.get("method") == "Page.loadEventFired")
        # Chromium drops the clicks on a page that is not painted.
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)["result"]
        return result.get("value")

    def has_focus(self):
        """Returns whether the page has the focus, which a dialog takes away."""
        return self.evaluate("document.hasFocus()")

    def click(self, number):
        """Clicks the link with a number, as a mouse does."""
        link = f"document.getElementById('link{number}').getBoundingClientRect()"
        self.click_at(*self.evaluate(f"(r => [r.x + 5, r.y + 5])({link})"))

    def click_at(self, x, y):
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def open_allowed(session):
    """Opens each link of a page that a policy allows to open them."""
    page = Page(ESCAPES.values())
    browser = Chromium(session, {
        "AutoLaunchProtocolsFromOrigins": [{"protocol": SCHEME, "allowed_origins": [page.origin]}]})
    browser.open(page)
    for number, (what, url) in enumerate(ESCAPES.items()):
        browser.click(number)
        arrival = session.arrival()
        yield f"link, {what}", url, arrival["url"]
    yield session.sender(arrival, "chromium")


@check("Chromium with a policy, through the portal", *PACKAGES, "xdg-desktop-portal-gtk", limit=90)
def policy(session):
    session.start_display()
    session.begin()
    yield from open_allowed(session)


@check("Chromium with a policy, through xdg-open", *PACKAGES, "xdg-utils", limit=90)
def policy_without_portal(session):
    session.start_display()
    os.makedirs(f"{session.root}/data/dbus-1/services")
    with open(f"{session.root}/data/dbus-1/services/org.freedesktop.portal.Desktop.service", "w") as file:
        file.write("[D-BUS Service]\nName=org.freedesktop.portal.Desktop\nExec=/bin/false\n")
    session.begin()
    yield from open_allowed(session)


def answer_dialog(session, browser, answer):
    """Clicks a link, and answers the dialog after a while. Returns the URL that arrives before the answer."""
    session.run("xdotool", "search", "--sync", "--name", "links - Chromium", "windowfocus", "--sync")
    browser.click_at(400, 400)
    wait_until(browser.has_focus)
    browser.click(1)
    wait_until(lambda: not browser.has_focus())
    before = session.url(3)
    session.run("xdotool", "key", *answer)
    return before


@check("Chromium, dialog, openurl chooses", *PACKAGES, "xdg-desktop-portal", limit=90)
def dialog_with_chooser(session):
    """The policy of the other check needs a namespace, in which the router would take Chromium for a sandbox."""
    session.start_display()
    session.serve_portal()
    session.begin()
    browser = Chromium(session)
    browser.open(Page(ESCAPES.values()))
    answer_dialog(session, browser, ["Tab", "Return"])
    arrival = session.arrival()
    yield "link", (ESCAPES["%20"], "chromium"), (arrival["url"], session.known_sender(arrival))


@check("Chromium, dialog", *PACKAGES, limit=90)
def dialog(session):
    session.start_display()
    session.begin()
    page = Page(ESCAPES.values())
    browser = Chromium(session)
    browser.open(page)

    def ask(answer):
        """Returns the URLs that arrive before and after the answer."""
        before = answer_dialog(session, browser, answer)
        return before, session.url(3 if answer == ["Escape"] else 10)

    yield "link, before an answer and after a cancellation", ("nothing", "nothing"), ask(["Escape"])
    # The button that cancels has the focus at first.
    yield "link, before and after a consent", ("nothing", ESCAPES["%20"]), ask(["Tab", "Return"])
