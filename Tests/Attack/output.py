"""Texts from outside reach the terminal and the log of the user."""

import json, os, plistlib, pty, select, time
from attack import *

# A change of the title, a colour, a change of the direction, a mark of it, a bell, an 8-bit escape, and a separator of lines.
EVIL = "\x1b]0;evil\x07\x1b[31mred\u202egnp.exe\u2066\u200f\x9b1m\u2028end"
JSON_EVIL = "".join(f"\\u{ord(c):04x}" for c in EVIL)
BAD = ["\x1b", "\x07", "\u202e", "\u2066", "\u200f", "\x9b", "\u2028", "\x00"]


def on_terminal(session, *command, limit=15):
    """Runs a command on a terminal that wants no colours. Returns all that it wrote there."""
    main, other = pty.openpty()
    process = session.start(*command, environment={"NO_COLOR": "1"}, stdin=other, stdout=other, stderr=other)
    os.close(other)
    text, end = b"", time.monotonic() + limit
    while time.monotonic() < end:
        ready, _, _ = select.select([main], [], [], 0.2)
        try:
            piece = os.read(main, 1 << 16) if ready else b""
        except OSError:
            break
        text += piece
        if not piece and process.poll() is not None:
            break
    process.poll() is None and process.kill()
    os.close(main)
    return text.decode(errors="replace")


def raw(text):
    """Returns the controls in a text by name. Marks of the end of a line do not count."""
    return [f"U+{ord(c):04X}" for c in BAD if c in text]


def result(texts):
    """Judges what commands wrote, by command."""
    found = {what: raw(text) for what, text in texts.items() if raw(text)}
    seen = sum("red" in text for text in texts.values())
    return bool(found), f"{seen} of {len(texts)} showed the text; raw: " + (", ".join(
        f"{what} {' '.join(marks)}" for what, marks in found.items()) or "nothing")


@attack("output", "refuses a URL with a reason full of escapes")
def decline(session):
    session.begin()
    session.python("com.example.no", "no", f"decline={JSON_EVIL}")
    run = {"open": on_terminal(session, "openurl", "no:x"), "open --verbose": on_terminal(session, "openurl", "--verbose", "no:x")}
    return result(run)


@attack("output", "answers with an error full of escapes")
def error(session):
    session.begin()
    session.python("com.example.no", "no", f"error={JSON_EVIL}")
    return result({"open": on_terminal(session, "openurl", "no:x"), "--json": on_terminal(session, "openurl", "--json", "no:x")})


@attack("output", "leaves an error full of escapes in the queue")
def queue(session):
    session.begin()
    session.python("com.example.no", "no", f"decline={JSON_EVIL}")
    session.run("openurl", "--queue", "no:x")
    wait_until(lambda: session.bus.call(QUEUE, "List", "s", [""])[0][0]["state"] == "dead", 3)
    return result({"queue": on_terminal(session, "openurl", "queue"),
                   "queue --json": on_terminal(session, "openurl", "queue", "--json")})


@attack("output", "has a name, warnings and paths full of escapes in its manifest")
def manifest(session):
    session.begin()
    printable = EVIL.replace("\x00", "")
    path = session.manifest("com.example.evil", "evil", "/bin/true", CFBundleName="x", CFBundleDisplayName="x",
                            directory=f"{session.root}/red{printable}".replace("/0;", ";"))
    content = plistlib.load(open(path, "rb"))
    content |= {"CFBundleName": printable, "CFBundleDisplayName": printable, "UILaunchImageFile": printable, "CFBundleURLTypes": [
        {"CFBundleURLSchemes": ["evil", printable], "CFBundleURLName": printable}]}
    with open(path, "wb") as file:
        plistlib.dump(content, file, fmt=plistlib.FMT_BINARY)
    texts = {"register": on_terminal(session, "openurl", "register", path)}
    soft = "red\u202egnp.exe\u2066\u200fend"
    content |= {"CFBundleName": soft, "CFBundleDisplayName": soft, "UILaunchImageFile": soft, "CFBundleURLTypes": [
        {"CFBundleURLSchemes": ["evil"], "CFBundleURLName": soft}]}
    with open(path, "wb") as file:
        plistlib.dump(content, file, fmt=plistlib.FMT_BINARY)
    texts["register again"] = on_terminal(session, "openurl", "register", path)
    for words in [["list"], ["list", "--json"], ["explain", "evil:x"], ["status"], ["open", "evil:x"], ["default", "evil"]]:
        texts[" ".join(words)] = on_terminal(session, "openurl", *words)
    return result(texts)


@attack("output", "names background tasks with escapes")
def tasks(session):
    session.begin()
    name = EVIL.replace("\x00", "")
    session.swift(VICTIM, SCHEME, f"task={name}").start()
    session.run("openurl", "background", VICTIM)
    wait_until(lambda: session.status().get("background-tasks"))
    return result({"status": on_terminal(session, "openurl", "status"),
                   "status --json": on_terminal(session, "openurl", "status", "--json")})


@attack("output", "has a desktop entry whose name and command are full of escapes")
def desktop_entry(session):
    session.begin()
    name = EVIL.replace("\u2028", "").replace("\x9b", "")
    with open(f"{session.root}/data/applications/evil.desktop", "w") as file:
        file.write(f"[Desktop Entry]\nType=Application\nName={name}\nExec=/bin/sh -c 'exit 3' {name} %u\n"
                   "MimeType=x-scheme-handler/evil;\n")
    return result({" ".join(words): on_terminal(session, "openurl", *words)
                   for words in [["list"], ["explain", "evil:x"], ["open", "evil:x"], ["default", "evil"]]})


@attack("output", "writes escapes to the standard error of a handler that crashes")
def crash(session):
    session.begin()
    evil = JSON_EVIL.replace("\\u0000", "")
    with open(f"{session.root}/crash", "w") as file:
        file.write(f"#!/usr/bin/python3\nimport sys\nsys.stderr.write(\"{evil}\\n\")\nsys.exit(1)\n")
    os.chmod(f"{session.root}/crash", 0o755)
    path = session.manifest("com.example.crash", "crash", f"{session.root}/crash")
    session.register_path(path)
    texts = {"open": on_terminal(session, "openurl", "crash:x"), "log": session.log_text()}
    return result(texts)


@attack("output", "forges lines of the log through errors and output")
def log(session):
    session.begin()
    forged = "2026-01-01T00:00:00+0000 critical openurld: forged by a handler"
    session.python("com.example.no", "no", "decline=x\\\\n" + forged)
    session.python("com.example.error", "error", "error=x\\\\r\\\\n" + forged)
    session.swift(VICTIM, SCHEME, f"task=x\n{forged}").start()
    for url in ["no:x", "error:x", f"{SCHEME}:x"]:
        session.run("openurl", "--queue", url)
        session.run("openurl", url)
    session.run("openurl", "background", VICTIM)
    attempt(lambda: session.bus.open("x\n" + forged))
    attempt(lambda: session.bus.call(LIFECYCLE, "Terminate", "s", ["x\n" + forged]))
    attempt(lambda: session.bus.call(REGISTRY, "Register", "s", ["/x\n" + forged]))
    attempt(lambda: session.bus.call(ROUTER, "Explain", "sa{sv}", ["no:x", {"handler": ("s", "x\n" + forged)}]))
    found = [line for line in lines(session.log.name) if line.startswith(forged)]
    return bool(found), f"{len(found)} forged lines"


@attack("output", "makes a file name that forges lines of the log")
def log_file_name(session):
    os.makedirs(f"{session.root}/data/openurl/handlers")
    forged = "2026-01-01T00:00:00+0000 critical openurld: forged"
    with open(f"{session.root}/data/openurl/handlers/x\n{forged}.plist", "w") as file:
        file.write("nothing")
    with open(f"{session.root}/data/applications/x\n{forged}.desktop", "w") as file:
        file.write("[Desktop Entry]\nType=Application\nName=x\nExec=\"x\nMimeType=x-scheme-handler/evil;\n")
    session.begin()
    session.bus.call(REGISTRY, "Reload")
    found = [line for line in lines(session.log.name) if line.startswith(forged)]
    return bool(found), f"{len(found)} forged lines"


@attack("output", "answers with an error of 900 kB")
def megabyte(session):
    session.begin()
    session.python("com.example.no", "no", "error=0123456789abcdef", "times=56000")
    run = session.run("openurl", "no:x")
    session.run("openurl", "--queue", "no:y")
    wait_until(lambda: session.bus.call(QUEUE, "List", "s", [""])[0][0]["state"] == "dead", 3)
    size = len(json.dumps(session.bus.call(QUEUE, "List", "s", [""])))
    log = len(session.log_text()) - len(run.errors)
    return max(len(run.errors), size, log) > 65536, \
        f"{len(run.errors)} bytes from openurl, {size} bytes in the queue, {log} bytes in the log"


@attack("output", "fills the queue's list with errors of 900 kB")
def megabyte_queue(session):
    session.begin()
    session.python("com.example.no", "no", "error=0123456789abcdef", "times=56000")
    for number in range(8):
        session.run("openurl", "--queue", f"no:{number}")
    wait_until(lambda: len([1 for line in lines(f"{session.root}/com.example.no.log") if line.startswith("open")]) > 7)
    run = session.run("openurl", "queue", limit=10)
    shown = len(run.output.splitlines())
    return run.status != 0 or shown != 8, f"openurl queue: {short(run, 60)}, {shown} of 8 URLs, {len(run.output)} bytes"
