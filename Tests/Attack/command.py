"""The command meets a program that has taken the router's name, and answers as it likes."""

import resource, subprocess, time
from attack import *
from output import on_terminal, raw

COMMANDS = {"open": ["open", "x:y"], "queue": ["queue"], "list": ["list"], "list --schemes": ["list", "--schemes"],
            "status": ["status"], "explain": ["explain", "x:y"], "default": ["default", "x"], "can-open": ["can-open", "x:y"],
            "register": ["register", "/etc/hostname"], "activate": ["activate", "com.example.x"],
            "suspend": ["suspend", "com.example.x"], "queue drop": ["queue", "drop", "--all"],
            "queue retry": ["queue", "retry", "1"], "open --queue": ["open", "--queue", "x:y"], "version": ["version"]}
LIFECYCLE_COMMANDS = ["activate", "suspend"]
MEMORY = 300  # MiB that the command may take


def hostile(session, how, is_trusted=True):
    session.begin()
    if is_trusted:
        session.environment["OPENURL_ROUTER"] = "any"
    process = session.start(PYTHON, f"{HERE}/hostile_router.py", how)
    if not wait_until(lambda: session.owner(ROUTER) == process.pid):
        raise RuntimeError("the hostile router does not start")


def limits():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY << 20, MEMORY << 20))


def outcomes(session, commands, limit, *options):
    """Runs commands at once with a limit of memory. Returns the status of each, or `endless`."""
    running = {}
    for what in commands:
        words = COMMANDS[what]
        out = open(f"{session.root}/command-{what.replace(' ', '')}", "wb")
        running[what] = session.start("openurl", words[0], *options, *words[1:], stdout=out, stderr=out, preexec_fn=limits)
    end, found = time.monotonic() + limit, {}
    for what, process in running.items():
        try:
            found[what] = process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            found[what] = "endless"
    return found


def judged(found, is_bad):
    bad = {what: status for what, status in found.items() if is_bad(status)}
    return bool(bad), (", ".join(f"{what}: {status}" for what, status in bad.items())
                       or f"{len(found)} commands ended, statuses {sorted(set(found.values()))}")


@attack("command", "waits for what the command sends")
def listens(session):
    hostile(session, "error", is_trusted=False)
    texts = {what: session.run("openurl", *words, limit=5) for what, words in COMMANDS.items() if what != "version"}
    reached = [what for what, run in texts.items() if run.status != 69 or "belongs to" not in run.output + run.errors]
    return bool(reached), f"reached by: {', '.join(reached) or 'nothing'}"


@attack("command", "gives endless pages of the queue", limit=60)
def pages(session):
    hostile(session, "pages")
    return judged(outcomes(session, ["queue", "queue drop"], 40), lambda status: status == "endless" or status < 0)


@attack("command", "never answers a command with a time limit")
def timeout(session):
    hostile(session, "silent")
    return judged(outcomes(session, ["open"], 6, "--timeout", "1s"), lambda status: status == "endless" or status <= 0)


@attack("command", "never answers a queued URL with a time limit")
def timeout_queue(session):
    hostile(session, "silent")
    return judged(outcomes(session, ["open --queue"], 6, "--timeout", "1s"), lambda status: status == "endless" or status <= 0)


@attack("command", "never answers at all", limit=60)
def silent(session):
    hostile(session, "silent")
    commands = [what for what in COMMANDS if what not in ["open", "open --queue"] + LIFECYCLE_COMMANDS]
    return judged(outcomes(session, commands, 40), lambda status: status == "endless" or status < 0)


@attack("command", "never answers a command that waits for a handler", limit=150)
def silent_lifecycle(session):
    hostile(session, "silent")
    # A handler may take its time, so these commands wait for two minutes.
    return judged(outcomes(session, LIFECYCLE_COMMANDS, 130), lambda status: status == "endless" or status < 0)


@attack("command", "answers with 100 MB")
def huge(session):
    hostile(session, "huge")
    return judged(outcomes(session, ["queue", "list", "status", "open", "explain"], 20), lambda status: status == "endless" or status < 0)


@attack("command", "answers with values of wrong types")
def garbage(session):
    hostile(session, "garbage")
    return judged(outcomes(session, COMMANDS, 20), lambda status: status == "endless" or status < 0)


@attack("command", "answers with dictionaries of wrong types")
def wrong(session):
    hostile(session, "wrong")
    return judged(outcomes(session, COMMANDS, 20), lambda status: status == "endless" or status < 0)


@attack("command", "answers with texts full of escapes")
def escapes(session):
    hostile(session, "escapes")
    texts = {what: on_terminal(session, "openurl", *COMMANDS[what], limit=5)
             for what in ["open", "queue", "list", "status", "explain", "list --schemes", "default", "version"]}
    found = {what: raw(text) for what, text in texts.items() if raw(text)}
    seen = sum("red" in text for text in texts.values())
    return bool(found), f"{seen} of {len(texts)} showed the text; raw: {found or 'nothing'}"


@attack("command", "answers with an error full of escapes")
def error(session):
    hostile(session, "error")
    texts = {what: on_terminal(session, "openurl", *words, limit=5) for what, words in COMMANDS.items()}
    found = {what: raw(text) for what, text in texts.items() if raw(text)}
    seen = sum("red" in text for text in texts.values())
    return bool(found), f"{seen} of {len(texts)} showed the text; raw: {found or 'nothing'}"


@attack("command", "leaves the bus while a command waits")
def leaves(session):
    hostile(session, "leave")
    return judged(outcomes(session, COMMANDS, 12), lambda status: status == "endless" or status < 0)


@attack("command", "floods a command that waits with messages")
def floods(session):
    hostile(session, "flood")
    return judged(outcomes(session, ["open"], 10, "--timeout", "2s"), lambda status: status == "endless" or status < 0)
