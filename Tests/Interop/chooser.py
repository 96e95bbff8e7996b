"""The chooser under X11 and Wayland: what the keyboard does, what a screen reader sees, and which window gets the focus.

The compositors have no screen. `window.py` is the caller and the chosen program.
"""

import json, os, signal, subprocess
from session import HERE, Skip, check
from wayland import CALLER, Compositor, Desk, Mutter, Sway

CHOSEN = "com.example.gtk"
ROUNDS = 100
PACKAGES = ["python3-gi", "gir1.2-gtk-4.0", "desktop-file-utils", "bubblewrap"]
LINK = """[Link]
URL=https://www.example.com/{path}
Host=www.example.com
Source=Mail
SourceID=com.example.mail
Token={token}
"""
CANDIDATES = """[Candidate 1]
ID=com.example.browser.desktop
Name=Browser
Icon=web-browser
Profile=p1
ProfileName=Work
Private=true
[Candidate 2]
ID=com.example.gtk.desktop
Name=Viewer
[Candidate 3]
ID=com.example.other.desktop
Name=Other
Private=true
"""
SENTENCE = "The link comes from \u2068Mail\u2069."
# What a screen reader sees, from the top of the window: the role, the name, and the description.
TREE = [
    ["frame", "Open a link", ""],
    ["label", "https://www.example.com/{path}", ""],
    ["label", SENTENCE, ""],
    ["list", "Programs that can open the link", "https://www.example.com/{path}. " + SENTENCE],
    ["list item", "Browser – Work", ""],
    ["list item", "Viewer", ""],
    ["list item", "Other", ""],
    ["radio button", "Only this time", ""],
    ["radio button", "Always for links to www.example.com", ""],
    ["radio button", "Always for links from \u2068Mail\u2069", ""],
    ["check box", "Private window", ""],
]


class XServer(Compositor):
    """An X server with a window manager."""

    def __init__(self, session):
        self.session = session
        session.start_bus()
        session.start_display()
        session.environment["GDK_BACKEND"] = "x11"
        session.start("openbox")

    def press(self, id, *keys):
        self.session.run("xdotool", "key", *keys)


class Chooser:
    """One chooser. Whoever had the focus has lost it when this has been made."""

    def __init__(self, desk, path="a", token="", candidates=CANDIDATES):
        session, self.desk = desk.session, desk
        with open(f"{session.root}/question", "w") as file:
            file.write(LINK.format(path=path, token=token) + candidates)
        with open(f"{session.root}/question") as question:
            # The session's programs have no accessibility.
            self.process = session.start(f"{session.programs}/openurl-chooser", stdin=question, stdout=subprocess.PIPE,
                                         environment={"GTK_A11Y": "atspi"})
        self.has_focus = bool(desk.wait(CALLER, 10, active=False))

    def press(self, *keys):
        for key in keys:
            self.desk.compositor.press(None, key)

    def answer(self):
        """Waits for the end of the output. Returns the values of the choice."""
        lines = self.process.stdout.read().decode().splitlines()
        return dict(line.split("=", 1) for line in lines[1:])

    def choice(self, *keys):
        """Presses keys, which end the chooser. Returns the status and the choice without the token, as one text."""
        self.press(*keys)
        choice, status = self.answer(), self.process.wait(10)
        self.desk.wait(CALLER, 10, active=True)
        return " ".join([str(status), *(f"{name}={value}" for name, value in choice.items() if name != "Token")])


def desk(session, compositor):
    """Returns a desk whose caller has the focus."""
    if not os.path.exists(f"{session.programs}/openurl-chooser"):
        raise Skip("the chooser is not built: make build WITH=chooser")
    desk = Desk(session, compositor)
    session.run("openurl", "caller:")
    if not desk.wait(CALLER, active=True):
        raise Skip("GTK 4 gets no window here")
    return desk


# What the keys do: the names of the keys, the exit status and the choice.
KEYS = {
    "2": "0 Candidate=2 Remember=no Private=false",
    "KP_3": "0 Candidate=3 Remember=no Private=false",
    "Return": "0 Candidate=1 Remember=no Private=false",
    "Down Down Up Return": "0 Candidate=2 Remember=no Private=false",
    "End Return": "0 Candidate=3 Remember=no Private=false",
    "9 1": "0 Candidate=1 Remember=no Private=false",
    "Tab Down space 2": "0 Candidate=2 Remember=site Private=false",
    "Tab Tab space 3": "0 Candidate=3 Remember=no Private=true",
    "alt+t 1": "0 Candidate=1 Remember=site Private=false",
    "alt+f 3": "0 Candidate=3 Remember=sender Private=false",
    "alt+f alt+o 3": "0 Candidate=3 Remember=no Private=false",
    "alt+p 1": "0 Candidate=1 Remember=no Private=true",
    # The second candidate offers no private window.
    "alt+p 2 3": "0 Candidate=3 Remember=no Private=true",
    "Escape": "1",
    "alt+F4": "1",
}


@check("Chooser, keyboard", "openbox", "xdotool", "xvfb", *PACKAGES, limit=120)
def keyboard(session):
    place = desk(session, XServer)
    for keys, expected in KEYS.items():
        yield keys, expected, Chooser(place).choice(*keys.split())
    chooser = Chooser(place)
    chooser.process.send_signal(signal.SIGTERM)
    yield "SIGTERM", "1", chooser.choice()
    run = session.run(f"{session.programs}/openurl-chooser", environment={"DISPLAY": ":none"}, stdin=open(f"{session.root}/question"))
    yield "no display", "3, 1 line", f"{run.status}, {run.errors.count('there is no display')} line"
    run = session.run(f"{session.programs}/openurl-chooser")
    yield "no question", "2, no URL", f"{run.status}, {'no URL' if 'has no URL' in run.errors else run.errors}"


@check("Chooser, accessibility", "at-spi2-core", "gir1.2-atspi-2.0", "openbox", "python3-pyatspi", "xdotool", "xvfb", *PACKAGES)
def accessibility(session):
    place = desk(session, XServer)
    path = "a?b=%E2%80%AE&c=" + "d" * 50
    chooser = Chooser(place, path)
    run = session.run(f"{HERE}/accessible.py", "openurl-chooser")
    tree = json.loads(run.output or "[]")
    # Boxes and pictures have no name.
    seen = [part[:3] for part in tree if part[0] not in ["panel", "filler", "scroll pane", "scroll bar", "filler", "redundant object", "grouping"]]
    for number, expected in enumerate(TREE):
        expected = [text.replace("{path}", path) for text in expected]
        yield f"part {number + 1}", expected, seen[number] if number < len(seen) else None
    yield "parts", len(TREE), len(seen)
    yield "parts that take the focus without a name", [], [part for part in tree if "focusable" in part[3] and not part[1]]
    yield "part with the focus", ["Browser – Work"], [part[1] for part in tree if "focused" in part[3]]
    yield "choice", KEYS["2"], chooser.choice("2")


def focus(compositor):
    """Returns the check of a compositor: a token of the caller's for the chooser, and one of the chooser's for the program."""

    def run(session):
        place = desk(session, compositor)
        place.aim("gtk")
        in_front = with_token = focused = 0
        for number in range(ROUNDS):
            place.compositor.press(CALLER, "k")
            chooser = Chooser(place, token=place.wait(CALLER, key="k").get("token") or "")
            in_front += chooser.has_focus
            chooser.press("2")
            token = chooser.answer().get("Token", "")
            with_token += bool(token)
            session.run("openurl", "gtk:", environment={"XDG_ACTIVATION_TOKEN": token})
            # The chooser ends before its time limit.
            has_focus = bool(place.wait(CHOSEN, 10, active=True)) and chooser.process.wait(2) == 0
            focused += has_focus
            if not has_focus or not place.come_back(CHOSEN, "gtk"):
                break
        yield f"{ROUNDS} choices", f"{ROUNDS} in front, {ROUNDS} tokens, {ROUNDS} with the focus", \
            f"{in_front} in front, {with_token} tokens, {focused} with the focus"

    return run


for compositor, packages in [(XServer, ["openbox", "xdotool", "xvfb"]), (Sway, ["sway", "wtype"]), (Mutter, ["mutter"])]:
    check(f"Chooser, focus, {compositor.__name__}", *PACKAGES, *packages, limit=300)(focus(compositor))
