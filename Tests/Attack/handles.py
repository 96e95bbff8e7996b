"""A program uses the handles, the reports and the inboxes of others."""

import json, os
from attack import *
from deputy import bad_call
from sandboxes import flatpak

REQUEST = "org.openurl.Request1"


def begun(session):
    """Begins a request with a handle that its handler answers when the file `release` is there. Returns its serial."""
    session.begin()
    handler = session.python(VICTIM, SCHEME, f"until={session.root}/release", OUOpenTimeout=600)
    serial = session.bus.begin(ROUTER, "OpenURL", "sa{sv}",
                               [f"{SCHEME}:?long", {"handle-token": ("s", "mine"), "request-id": ("s", "the-request")}])
    if not wait_until(lambda: f"{SCHEME}:?long" in handler.urls(), 15):
        raise RuntimeError("the handler has no URL")
    return serial, handler


def handle(session, token="mine"):
    return f"/org/openurl/Router1/request/{session.bus.name[1:].replace('.', '_')}/{token}"


def outcome(session, serial):
    """Lets the handler answer. Returns the words for the answer of the request."""
    open(f"{session.root}/release", "w").close()
    return attempt(lambda: session.bus.answer(serial, 15))


def cancel(make):
    def run(session):
        serial, handler = begun(session)
        stranger = make(session)
        answers = [stranger.call(REQUEST, "Cancel", path=handle(session, token)) for token in ["mine", "none"]]
        known = answers[0] != answers[1]
        words = outcome(session, serial)
        return words != "answered" or known, f"Cancel: {said(answers[0])}, the request: {words}, tells handles apart: {known}"
    return run


for make, words in [(lambda session: session.polite(), "another program"), (flatpak, "a Flatpak")]:
    attack("handles", f"cancels a request by its handle, as {words}")(cancel(make))


@attack("handles", "reports progress of a URL that another handler has")
def report(session):
    serial, handler = begun(session)
    session.bus.watch(f"type='signal',interface='{REQUEST}'")
    bad = session.python("com.example.bad", "bad", "calls").start()
    said = bad_call(session, bad, LIFECYCLE, "ReportProgress", "sds", ["the-request", 0.5, "forged"])
    words = outcome(session, serial)
    seen = [message for message in session.bus.waiting if message.member == "Progress"]
    return bool(seen) or words != "answered", f"ReportProgress: {short(said, 60)}, reports: {len(seen)}, the request: {words}"


@attack("handles", "takes the handle of a request that lives")
def twice(session):
    serial, handler = begun(session)
    words = attempt(lambda: session.bus.open(f"{SCHEME}:?second", {"handle-token": ("s", "mine")}, wait=5))
    return words != "InvalidArgs" or outcome(session, serial) != "answered", f"OpenURL: {words}"


@attack("handles", "learns from a sandbox which files exist")
def oracle(session):
    session.begin()
    session.python(VICTIM, SCHEME, CFBundleDocumentTypes=[{"CFBundleTypeExtensions": ["txt"]}])
    client = flatpak(session)
    answers = []
    open(f"{session.root}/secret.txt", "w").close()
    for path in [f"{session.root}/secret.txt", f"{session.root}/none.txt"]:
        url = f"file://{path}"
        found = [client.open(url, {"timeout": ["u", 3000]}), client.call(ROUTER, "CanOpenURL", "s", url),
                 client.call(ROUTER, "Explain", "sa{sv}", url, {})]
        answers.append(json.dumps(found).replace(path, ""))
    return answers[0] != answers[1], f"an existing file: {short(answers[0], 60)}; no file: {short(answers[1], 60)}"


@attack("handles", "puts files that are none, or have evil names, into an inbox")
def inbox(session):
    session.begin()
    types = [{"CFBundleTypeExtensions": ["*"]}]
    handler = session.python(VICTIM, SCHEME, CFBundleDocumentTypes=types)
    client = flatpak(session)
    fifo, good = f"{session.root}/shared/fifo", f"{session.root}/shared/good"
    os.mkfifo(fifo)
    open(good, "w").close()
    os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))
    keeper = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    names = ["../up.txt", "/abs.txt", ".hidden", "a/b.txt", "new\nline.txt", "\u202etxt.exe", "x" * 300, "fifo.txt", "dir.txt", "null.txt", "good.txt"]
    # The last one shows that files arrive at all.
    files = [good] * 7 + [fifo, f"{session.root}/shared", "/dev/null", good]
    answer = client.call(ROUTER, "OpenFiles", "a(sh)a{sv}", [[name, number] for number, name in enumerate(names)],
                         {"handler": ["s", VICTIM]}, files=files)
    os.close(keeper)
    directory = f"{session.environment['XDG_DATA_HOME']}/{VICTIM}/Inbox"
    found = os.listdir(directory) if os.path.isdir(directory) else []
    urls = handler.urls()
    return found != ["good.txt"] or len(urls) != 1, f"OpenFiles: {said(answer)}, in the inbox: {found}, opened: {urls}"


def files(words, harm, *rules, options={}):
    """Declares an attack in which a Flatpak sends a file that its handler does not get."""

    @attack("handles", words)
    def run(session):
        session.begin()
        handler = session.python(VICTIM, SCHEME, CFBundleDocumentTypes=[{"CFBundleTypeExtensions": ["txt"]}])
        for rule in rules:
            session.run("openurl", "policy", *rule)
        client = flatpak(session)
        good = f"{session.root}/shared/good"
        open(good, "w").close()
        answer = client.call(ROUTER, "OpenFiles", "a(sh)a{sv}", [["evil.txt", 0]], {"handler": ["s", VICTIM], **options}, files=[good])
        directory = f"{session.environment['XDG_DATA_HOME']}/{VICTIM}/Inbox"
        found = os.listdir(directory) if os.path.isdir(directory) else None
        return harm(found) or bool(handler.urls()), f"OpenFiles: {short(answer, 80)}, in the inbox: {found}"


# An inbox is made with its first copy.
files("puts a file into an inbox although the policy denies it", lambda found: found is not None,
      ["deny", "--source", "sandboxed", "*"])
files("leaves a file in an inbox by a time limit that is over", bool, options={"timeout": ["u", 0]})


@attack("handles", "gives the router thousands of URLs with fallbacks, and leaves")
def batch(session):
    session.begin()
    client = flatpak(session)
    answer = client.call(ROUTER, "OpenURLs", "asa{sv}", ["none:x"] * 4000, {"fallback": ["as", ["none:y"] * 16]})
    return said(answer) != "LimitsExceeded", f"OpenURLs: {short(answer, 80)}"
