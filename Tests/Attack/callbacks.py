"""A program answers the calls of others, waits for the callbacks of others, or leads the replies of handlers elsewhere."""

import random
from urllib.parse import parse_qs, urlsplit
from attack import *
from deputy import bad_call
from sandboxes import bare, flatpak

CALLBACKS = "org.openurl.Callbacks1"
URL = f"{SCHEME}://x-callback-url/add"


def called(session, seconds=20):
    """Calls the victim, which does not answer by itself. Returns the number of the call, the victim and `x-success`."""
    session.begin()
    victim = session.python(VICTIM, SCHEME, "silent", "calls")
    serial = session.bus.begin(ROUTER, "Call", "sa{sv}", [URL, {"timeout": ("u", seconds * 1000)}])
    if not wait_until(lambda: victim.urls(), 15):
        raise RuntimeError("the victim has no URL")
    return serial, victim, parse_qs(urlsplit(victim.urls()[-1]).query)["x-success"][0]


def opened_by(session, handler, url):
    """Lets a handler open a URL itself. Returns the words for the outcome."""
    return bad_call(session, handler, ROUTER, "OpenURL", "sa{sv}", [url, {}])


def answer(session, serial, victim, success):
    """Lets the victim answer. Returns what the caller gets."""
    said = opened_by(session, victim, f"{success}?from=victim")
    try:
        return session.bus.answer(serial, 15)[0].get("reply")
    except BusError as error:
        return f"{error.short}, the victim: {short(said, 60)}"


def forge(words, brings):
    @attack("callbacks", f"answers the call of another program, as {words}")
    def run(session):
        serial, victim, success = called(session)
        said = [brings(session, f"{success.replace('/success', kind)}?from=forger&errorMessage=forger")
                for kind in ["/success", "/error", "/cancel"]]
        found = answer(session, serial, victim, success)
        return found != {"from": "victim"}, f"OpenURL: {short(said[0], 60)}, the caller gets {short(found, 60)}"


def other_handler(session, url):
    bad = getattr(session, "bad", None)
    if not bad:
        bad = session.bad = session.python("com.example.bad", "bad", "calls").start()
    return opened_by(session, bad, url)


forge("a program that has seen the URL", lambda session, url: said(session.polite().open(url)))
forge("another handler", other_handler)
forge("a Flatpak", lambda session, url: said(flatpak(session).open(url)))
forge("a sandbox without a name", lambda session, url: said(bare(session).open(url)))
forge("a program that queues the answer",
      lambda session, url: said(session.polite().open(url, {"delivery": ["s", "queued"]})))


@attack("callbacks", "guesses the secret of a call")
def guess(session):
    serial, victim, success = called(session)
    token = urlsplit(success).netloc
    guesses = ["", "0" * 32, token[:-1], token + "0", f"{token}.", f"{token}:1", f"x@{token}", "%s", "*", token[:16]]
    guesses += [f"{random.getrandbits(128):032x}" for _ in range(500)]
    # The victim itself may answer, so only the secret protects here.
    answers = {opened_by(session, victim, f"openurl-reply://{text}/success?from=guess") for text in guesses[:30]}
    answers |= {attempt(lambda: session.bus.open(f"openurl-reply://{text}/success?from=guess")) for text in guesses[30:]}
    found = answer(session, serial, victim, success)
    return found != {"from": "victim"}, f"{len(guesses)} guesses: {len(answers)} kinds of answers, the caller gets {short(found, 60)}"


@attack("callbacks", "answers a call twice")
def twice(session):
    serial, victim, success = called(session)
    found = answer(session, serial, victim, success)
    again = [opened_by(session, victim, f"{success.replace('/success', kind)}?from=again") for kind in ["/success", "/error", "/cancel"]]
    harm = found != {"from": "victim"} or any(text.startswith("answered") for text in again)
    return harm, f"the caller gets {short(found, 40)}, the second time: {short(again[0], 60)}"


@attack("callbacks", "takes the scheme of the answers")
def scheme(session):
    session.begin()
    run = session.register_path(session.manifest("com.example.thief", "OpenURL-Reply", PYTHON))
    claims = [said(client.call(CALLBACKS, "Request", "ssa{sv}", "", "openurl-reply:", {}))
              for client in [session.polite(), flatpak(session)]]
    chosen = session.run("openurl", "default", "openurl-reply", "com.example.thief.desktop")
    harm = run.status == 0 or "answered" in claims or chosen.status == 0
    return harm, f"register: status {run.status}, claims: {', '.join(claims)}, default: status {chosen.status}"


@attack("callbacks", "waits for the callbacks of another application")
def foreign(session):
    session.begin()
    victim = session.python(VICTIM, SCHEME)
    bad = session.python("com.example.bad", "bad", "calls").start()
    claims = [said(client.call(CALLBACKS, "Request", "ssa{sv}", "", pattern, {}))
              for client in [session.polite(), flatpak(session)] for pattern in [SCHEME, f"{SCHEME}://auth", SCHEME.upper()]]
    claims.append(bad_call(session, bad, CALLBACKS, "Request", "ssa{sv}", ["", f"{SCHEME}://auth", {}]))
    session.bus.open(f"{SCHEME}://auth?code={SECRET}")
    harm = not any(SECRET in url for url in victim.urls())
    return harm, f"Request: {short(sorted(set(claims)), 80)}, the victim has the callback: {not harm}"


@attack("callbacks", "claims 10,000 callbacks", limit=60)
def many(session):
    session.begin()
    before, greedy, words = session.cost(), session.polite(), {}
    for number in range(10_000):
        word = said(greedy.call(CALLBACKS, "Request", "ssa{sv}", "", f"login{number}", {}))
        words[word] = words.get(word, 0) + 1
    # Each such program has a file of its own.
    other = said(session.polite().call(CALLBACKS, "Request", "ssa{sv}", "", "mine", {}))
    grown = session.cost()["memory"] - before["memory"]
    return other != "answered" or words.get("answered", 0) > 16, f"claims: {words}, another program: {other}, grown by {grown} KiB"


@attack("callbacks", "leaves claims behind")
def left(session):
    session.begin()
    client = session.polite()
    for pattern in ["login", "login://auth"]:
        client.call(CALLBACKS, "Request", "ssa{sv}", "", pattern, {"timeout": ["u", 86_400_000]})
    client.process.kill()
    client.process.wait()
    claimed = wait_until(lambda: attempt(lambda: session.bus.call(CALLBACKS, "Request", "ssa{sv}", ["", "login", {}])) == "answered", 10)
    return not claimed, f"another program waits for the callback: {bool(claimed)}"


@attack("callbacks", "sends callbacks of megabytes")
def huge(session):
    serial, victim, success = called(session)
    session.bus.call(CALLBACKS, "Request", "ssa{sv}", ["", "login", {}])
    session.bus.watch("type='signal',interface='org.openurl.Callback1'")
    before, words = session.cost()["memory"], set()
    client = session.polite()
    for url in ["login:", f"{success}?a=", "login:?state="]:
        for size in [70_000, 900_000, 8_000_000]:
            words.add(said(client.open(url + "a" * size)))
    # A refusal of the bus ends the connection of the client.
    said_by_victim = opened_by(session, victim, f"{success}?a=" + "a" * 900_000)
    grown = session.cost()["memory"] - before
    found = answer(session, serial, victim, success)
    ended = [message for message in session.bus.waiting if message.member == "Completed"]
    harm = bool(ended) or found != {"from": "victim"} or grown > 64 << 10
    return harm, f"OpenURL: {short(words, 80)}, {short(said_by_victim, 30)}, grown by {grown} KiB, the caller gets {short(found, 40)}"


@attack("callbacks", "keeps thousands of calls waiting", limit=60)
def calls(session):
    session.begin()
    session.python(VICTIM, SCHEME, "silent", "calls")
    for _ in range(2000):
        session.bus.begin(ROUTER, "Call", "sa{sv}", [URL, {}])
    other = session.polite()
    answer = other.call(ROUTER, "Call", "sa{sv}", URL, {"timeout": ["u", 3000]})
    # The victim is silent, so the time of a call that is served runs out.
    return said(answer) != "TimedOut", f"another program: {short(answer, 100)}"


def lead(words, brings):
    @attack("callbacks", f"leads the reply of a handler to another handler, as {words}")
    def run(session):
        session.begin()
        session.python(VICTIM, SCHEME, OUAnswersCallbacks=True)
        other = session.python("com.example.other", "other").start()
        count = len(other.urls())
        said = [brings(session, f"{URL}?{kind}=other%3Astolen") for kind in ["x-success", "x-error", "X-Success"]]
        # The callback would be in front of this URL.
        other.open("?last")
        return len(other.urls()) != count + 1, f"OpenURL: {short(said[0], 60)}, the other handler has {other.urls()[count:]}"


lead("a program of the user", lambda session, url: said(session.polite().open(url)))
lead("a Flatpak", lambda session, url: said(flatpak(session).open(url)))
lead("a handler", other_handler)
