"""What held before the defence, and has to hold with it."""

from attack import *


@attack("promise", "100 callers send and leave at once to a slow handler", limit=60)
def hundred(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, "startDelay=500")
    session.router
    for number in range(100):
        caller = Bus()
        caller.begin(ROUTER, "OpenURL", "sa{sv}", [f"{SCHEME}:?{number}", {}], flags=1)
        caller.call_bus("GetId")
        caller.close()
    expected = [f"{SCHEME}:?{number}" for number in range(100)]
    wait_until(lambda: len(handler.urls()) >= 100, 20)
    got = handler.urls()
    return got != expected, f"{len(got)} of 100, in order: {got == sorted(got, key=lambda url: int(url.partition('?')[2]))}"


@attack("promise", "a program of the user opens, asks, lists, registers and sets as before")
def user(session):
    session.begin()
    handler = session.swift().start()
    runs = {" ".join(words): session.run("openurl", *words).status for words in [
        ["can-open", f"{SCHEME}:"], ["list"], ["status"], ["queue"], ["explain", f"{SCHEME}:"], ["default", SCHEME],
        ["background", VICTIM], ["suspend", VICTIM], ["activate", VICTIM], ["terminate", VICTIM], ["unregister", VICTIM]]}
    bad = {words: status for words, status in runs.items() if status != 0}
    return bool(bad) or not handler.urls(), f"{len(runs) - len(bad)} of {len(runs)} commands succeeded {bad or ''}"


@attack("promise", "a handler gets URLs from a sandbox unless its manifest says otherwise")
def sandboxed(session):
    from sandboxes import flatpak
    session.begin()
    handler = session.swift().start()
    answer = flatpak(session).open(f"{SCHEME}:?sandbox")
    return f"{SCHEME}:?sandbox" not in handler.urls(), f"OpenURL: {said(answer)}"
