"""Firefox ESR: links on a page, with a policy that allows them, and with the dialogs that ask the user."""

import itertools, json, os, socket
from pages import Page
from session import ESCAPES, SCHEME, Skip, check, wait_until

PACKAGES = ["firefox-esr", "xvfb", "bubblewrap"]
PREFERENCES = {
    "marionette.port": 0,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.normandy.enabled": False,
    "extensions.update.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.captive-portal-service.enabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
}
# The dialog that Firefox shows above a page.
DIALOG = """
const box = gBrowser.getTabDialogBox(gBrowser.selectedBrowser).getTabDialogManager();
const frame = box._dialogs.at(-1)?._frame.contentDocument;
const dialog = frame?.querySelector("dialog");
"""


class Firefox:
    """Firefox with one tab, driven by the Marionette protocol.

    - policies: the contents of a policy file, which only this Firefox sees.
    """

    def __init__(self, session, policies=None):
        profile = f"{session.root}/firefox"
        os.mkdir(profile)
        with open(f"{profile}/user.js", "w") as file:
            file.writelines(f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in PREFERENCES.items())
        command = ["firefox-esr", "-no-remote", "-profile", profile, "-marionette", "-remote-allow-system-access"]
        if policies:
            os.mkdir(f"{session.root}/policies")
            with open(f"{session.root}/policies/policies.json", "w") as file:
                json.dump({"policies": policies}, file)
            wrapper = ["bwrap", "--dev-bind", "/", "/",
                       "--ro-bind", f"{session.root}/policies", "/usr/lib/firefox-esr/distribution"]
            if session.run(*wrapper, "true").status:
                raise Skip("bwrap cannot create a namespace here")
            command = wrapper + command
        session.start(*command)
        path = f"{profile}/MarionetteActivePort"
        port = wait_until(lambda: os.path.exists(path) and open(path).read(), 30)
        self.socket = socket.create_connection(("127.0.0.1", int(port)))
        self.stream, self.numbers = self.socket.makefile("rb"), itertools.count(1)
        self.read()
        self.call("WebDriver:NewSession")

    def read(self):
        """Reads a message: its length in digits, a colon, and JSON."""
        digits = b""
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise RuntimeError("Firefox has ended")
            digits += byte
        return json.loads(self.stream.read(int(digits)))

    def call(self, method, **parameters):
        """Sends a command, and returns its answer."""
        text = json.dumps([0, next(self.numbers), method, parameters])
        self.socket.sendall(f"{len(text)}:{text}".encode())
        _, _, error, result = self.read()
        if error:
            raise RuntimeError(f"{method}: {error['message']}")
        return result

    def open(self, page):
        self.call("WebDriver:Navigate", url=page.origin)

    def click(self, number):
        """Clicks the link with a number, as a mouse does."""
        self.call("Marionette:SetContext", value="content")
        found = self.call("WebDriver:FindElement", using="css selector", value=f"#link{number}")["value"]
        move = {"type": "pointerMove", "origin": found, "x": 0, "y": 0}
        press, release = ({"type": kind, "button": 0} for kind in ["pointerDown", "pointerUp"])
        actions = [{"type": "pointer", "id": "mouse", "actions": [move, press, release]}]
        # `WebDriver:ElementClick` waits for five seconds for a new page.
        self.call("WebDriver:PerformActions", actions=actions)

    def script(self, text):
        """Runs JavaScript in the browser's own window."""
        self.call("Marionette:SetContext", value="chrome")
        return self.call("WebDriver:ExecuteScript", script=text, args=[])["value"]

    def question(self):
        """Waits for a dialog that can be answered. Returns whether there is one."""
        ready = f"{DIALOG} return Boolean(dialog?._buttons && !dialog.getButton('accept').disabled)"
        return wait_until(lambda: self.script(ready))

    def answer(self, button):
        self.script(f"{DIALOG} dialog.getButton('{button}').click()")


@check("Firefox ESR with a policy", *PACKAGES, limit=90)
def policy(session):
    session.start_display()
    session.begin()
    page = Page(ESCAPES.values())
    browser = Firefox(session, {
        "AutoLaunchProtocolsFromOrigins": [{"protocol": SCHEME, "allowed_origins": [page.origin]}],
        "Handlers": {"schemes": {SCHEME: {"action": "useSystemDefault", "ask": False}}}})
    browser.open(page)
    for number, (what, url) in enumerate(ESCAPES.items()):
        browser.click(number)
        arrival = session.arrival()
        yield f"link, {what}", url, arrival["url"]
    yield session.sender(arrival, "firefox-esr")


@check("Firefox ESR, dialog", *PACKAGES, limit=90)
def dialog(session):
    session.start_display()
    session.begin()
    page = Page(ESCAPES.values())
    browser = Firefox(session)
    browser.open(page)

    def ask(button):
        """Clicks a link, and answers the dialog after a while. Returns the URLs that arrive before and after the answer."""
        browser.click(1)
        if not browser.question():
            return "no dialog"
        before = session.url(3)
        browser.answer(button)
        return before, session.url(3 if button == "cancel" else 10)

    yield "link, before an answer and after a cancellation", ("nothing", "nothing"), ask("cancel")
    yield "link, before and after a consent", ("nothing", ESCAPES["%20"]), ask("accept")


@check("Firefox ESR, dialog, openurl's entry", *PACKAGES, limit=90)
def dialog_with_router(session):
    """The policy of the other check needs a namespace, in which the router would take Firefox for a sandbox."""
    session.start_display()
    session.begin()
    session.choose_router()
    page = Page(ESCAPES.values())
    browser = Firefox(session)
    browser.open(page)
    for number, (what, url) in enumerate(ESCAPES.items()):
        browser.click(number)
        browser.question()
        browser.answer("accept")
        arrival = session.arrival()
        yield f"link, {what}", (url, "firefox-esr"), (arrival["url"], session.known_sender(arrival))
