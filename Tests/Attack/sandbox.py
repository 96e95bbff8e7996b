"""A confined program that may talk to the router tries to leave its sandbox, or to learn and change the session."""

import json, os
import xml.etree.ElementTree
from attack import *
from sandboxes import *


def victims(session, **keys):
    """Begins the session with a handler that runs."""
    session.begin()
    return session.swift(**keys).start()


def reaches(client):
    """Makes sure that the caller reaches the router, so that a refusal is the router's."""
    answer = client.call("org.freedesktop.DBus.Peer", "Ping")
    if "ok" not in answer:
        raise RuntimeError(f"the sandbox does not reach the router: {answer}")
    return client


def get_out(session, make):
    session.begin()
    mark = f"{session.root}/outside"
    path = session.manifest("org.evil.Out", "getout", "/bin/sh", ["-c", f"touch {mark}"], f"{session.root}/shared/evil")
    client = reaches(make(session))
    answer = client.call(REGISTRY, "Register", "s", path)
    opened = client.open("getout:now", {"timeout": ["u", 5000]})
    ran = os.path.exists(mark)
    listed = any(entry["id"] == "org.evil.Out" for entry in session.bus.call(REGISTRY, "ListHandlers")[0])
    return ran or listed, f"Register: {said(answer)}, OpenURL: {said(opened)}, its code ran outside: {ran}"


for where, make in KINDS.items():
    attack("sandbox", f"registers a program from {where} to run it outside")(lambda session, make=make: get_out(session, make))


def inherited(session, way):
    """A program of the user calls once, and leaves its connection to another process: a child, or the program of a sandbox."""
    session.begin()
    path = session.manifest("org.evil.Out", "getout", "/bin/true", [], f"{session.root}/shared/evil")
    call = (f"import sys, os, time; sys.path.insert(0, {HERE!r}); from bus import *\n"
            f"def attempt(bus):\n"
            f"    try: bus.call('org.openurl.Registry1', 'Register', 's', [{path!r}]); print('answered', flush=True)\n"
            f"    except BusError as error: print(error.short, flush=True)\n")
    # The first process waits for the end of all others.
    code = call + ("read, write = os.pipe()\n"
                   "if os.fork(): os.close(write); os.read(read, 1); os._exit(0)\n"
                   "bus = Bus(); bus.call('org.openurl.Registry1', 'ListSchemes')\n")
    if way == "child":
        code += ("parent = os.getpid()\nif os.fork(): os._exit(0)\n"
                 "while os.getppid() == parent: time.sleep(0.01)\nattempt(bus)\n")
    else:
        code += ("parent = os.getpid()\nif os.fork() == 0:\n"
                 "    while not os.readlink(f'/proc/{parent}/exe').endswith('bwrap'): time.sleep(0.01)\n"
                 "    attempt(bus); os._exit(0)\n"
                 "os.execvp('bwrap', ['bwrap', '--bind', '/', '/', '--dev-bind', '/dev', '/dev', 'sleep', '5'])\n")
    run = session.run(PYTHON, "-c", code)
    if not run.output:
        raise RuntimeError(run.errors)
    listed = any(entry["id"] == "org.evil.Out" for entry in session.bus.call(REGISTRY, "ListHandlers")[0])
    return listed, f"Register: {run.output.strip()}"


for words, way in {"a child of a program that has called and ended": "child", "a program that bwrap has replaced": "bwrap"}.items():
    attack("sandbox", f"registers over the connection of {words}")(lambda session, way=way: inherited(session, way))


@attack("sandbox", "registers after the process of the connection has gone")
def gone(session):
    session.begin()
    mark = f"{session.root}/outside"
    path = session.manifest("org.evil.Out", "getout", "/bin/sh", ["-c", f"touch {mark}"], f"{session.root}/shared/evil")
    # The first process stays, as the sandbox ends with it; the second one connects; the third one calls.
    code = (f"import sys; sys.path.insert(0, {HERE!r}); from bus import *\n"
            f"first, (read, write) = os.getpid(), os.pipe()\n"
            f"if os.fork(): os.close(write); os.read(read, 1); os._exit(0)\n"
            f"bus, second = Bus(), os.getpid()\n"
            f"if os.fork(): os._exit(0)\n"
            f"while os.getppid() == second: time.sleep(0.01)\n"
            f"try: bus.call('org.openurl.Registry1', 'Register', 's', [{path!r}]); print('answered', flush=True)\n"
            f"except BusError as error: print(error.short, flush=True)\n")
    info = info_file()
    command = bwrap(session, info, "--unshare-user", "--unshare-pid", "--bind", f"{session.root}/run/bus", "/bus")
    run = session.run(*command, PYTHON, "-c", code, pass_fds=[info],
                      environment={"DBUS_SESSION_BUS_ADDRESS": "unix:path=/bus"})
    if not run.output:
        raise RuntimeError(run.errors)
    attempt(lambda: session.bus.open("getout:now", {"timeout": ("u", 5000)}))
    ran = os.path.exists(mark)
    return ran or "answered" in run.output, f"Register: {run.output.strip()}, its code ran outside: {ran}"


# The queue


def queued(session):
    """Begins the session with a URL in the queue, which has a code in it and whose handler refuses it."""
    session.begin()
    handler = session.swift(VICTIM, SCHEME, "decline=no")
    run = session.run("openurl", "--queue", f"{SCHEME}:?{SECRET}")
    if run.status != 0 or not wait_until(lambda: in_queue(session) == [("dead", 1)]):
        raise RuntimeError(f"openurl --queue: {run}, {in_queue(session)}")
    return handler


def in_queue(session):
    return [(entry["state"], entry["attempts"]) for entry in session.bus.call(QUEUE, "List", "s", [""])[0]
            if SECRET in entry["url"]]


def number(session):
    return session.bus.call(QUEUE, "List", "s", [""])[0][0]["id"]


@attack("sandbox", "reads a code in the queue")
def read_queue(session):
    queued(session)
    answer = reaches(flatpak(session)).call(QUEUE, "List", "s", "")
    return SECRET in json.dumps(answer), f"List: {said(answer)}, {len(answer.get('ok', [[]])[0])} URLs"


@attack("sandbox", "drops a URL of another program")
def drop(session):
    queued(session)
    answer = reaches(flatpak(session)).call(QUEUE, "Drop", "s", number(session))
    return not in_queue(session), f"Drop: {said(answer)}"


@attack("sandbox", "has a URL of another program tried again")
def retry(session):
    handler = queued(session)
    answer = reaches(flatpak(session)).call(QUEUE, "Retry", "s", number(session))
    again = wait_until(lambda: len(handler.urls()) > 1, 3)
    return again, f"Retry: {said(answer)}, tried again: {bool(again)}"


@attack("sandbox", "finds the numbers of other programs' URLs by the errors")
def numbers(session):
    queued(session)
    client = reaches(flatpak(session))
    answers = [client.call(QUEUE, "Drop", "s", text) for text in ["1", number(session)]]
    return said(answers[0]) != said(answers[1]), f"unknown: {said(answers[0])}, another's: {said(answers[1])}"


# What there is


def listing(interface, member, signature="", *body):
    def run(session):
        victims(session)
        answer = reaches(flatpak(session)).call(interface, member, signature, *body)
        seen = [word for word in [VICTIM, SCHEME] if word in json.dumps(answer.get("ok"))]
        return bool(seen), f"{said(answer)}, it saw: {' '.join(seen) or 'nothing of others'}"
    return run


for interface, member in [(REGISTRY, "ListHandlers"), (REGISTRY, "ListSchemes"), (LIFECYCLE, "List")]:
    name = f"{interface.removeprefix('org.openurl.')}.{member}"
    attack("sandbox", f"lists handlers with {name}")(listing(interface, member))


def oracle(session, words, ask):
    """Asks about things that exist and that do not. Returns whether the answers differ, without the words themselves."""
    client = reaches(flatpak(session))
    answers = {}
    for what, word in words.items():
        text = json.dumps(ask(client, word), sort_keys=True)
        answers[what] = text.replace(json.dumps(word)[1:-1], "…").replace(word.partition(":")[0], "…")
    return len(set(answers.values())) > 1, "; ".join(f"{what}: {short(text, 48)}" for what, text in answers.items())


SCHEMES = {"there": f"{SCHEME}:", "missing": "zzzzzz:"}


@attack("sandbox", "finds schemes with CanOpenURL")
def can_open(session):
    victims(session)
    return oracle(session, SCHEMES, lambda client, url: client.call(ROUTER, "CanOpenURL", "s", url))


@attack("sandbox", "finds schemes with Explain")
def explain(session):
    victims(session)
    return oracle(session, SCHEMES, lambda client, url: client.call(ROUTER, "Explain", "sa{sv}", url, {}))


@attack("sandbox", "finds handlers by the option `handler` of Explain")
def explain_handler(session):
    victims(session)
    return oracle(session, {"there": VICTIM, "missing": "com.example.nothin"},
                  lambda client, id: client.call(ROUTER, "Explain", "sa{sv}", "zzzzzz:", {"handler": ["s", id]}))


@attack("sandbox", "tells handlers that are not for it from missing ones by the error of OpenURL")
def open_error(session):
    session.begin()
    session.swift(VICTIM, SCHEME, OUReach="local").start()
    client = reaches(flatpak(session))
    answers = {what: said(client.open(url)) for what, url in SCHEMES.items()}
    return len(set(answers.values())) > 1, "; ".join(f"{what}: {text}" for what, text in answers.items())


@attack("sandbox", "finds files with Register")
def paths(session):
    session.begin()
    os.mkdir(f"{session.root}/private", 0o700)
    there, missing, folder, fifo = (f"{session.root}/private/{name}" for name in ["there", "nothere", "folder", "fifo"])
    with open(there, "w") as file:
        file.write("password")
    os.mkdir(folder)
    os.mkfifo(fifo)
    good = session.manifest("org.evil.Good", "evilgood", "/bin/true")
    bad = session.manifest("org.evil.Bad", "evilbad", "/bin/true", nothing=[{"x": 1}])
    os.truncate(bad, 200)
    words = {"file": there, "none": missing, "folder": folder, "FIFO": fifo, "manifest": good, "damaged": bad, "device": "/dev/zero"}
    return oracle(session, words, lambda client, path: {
        name: value for name, value in client.call(REGISTRY, "Register", "s", path, wait=10).items() if name != "ok"})


@attack("sandbox", "finds handlers with Lifecycle1 by the errors")
def lifecycle_error(session):
    victims(session)
    return oracle(session, {"there": VICTIM, "missing": "com.example.nothin"},
                  lambda client, id: client.call(LIFECYCLE, "Notify", "ssv", id, "kind", ["s", "x"]))


# The handlers of others


def lifecycle(member, harm, prepare=lambda handler: handler.start()):
    def run(session):
        session.begin()
        handler = prepare(session.swift(VICTIM, SCHEME))
        before = len(handler.events())
        answer = reaches(flatpak(session)).call(LIFECYCLE, member, "s", VICTIM, limit=8)
        done = wait_until(lambda: harm(handler, handler.events()[before:]), 2)
        return bool(done), f"{member}: {said(answer)}"
    return run


for member, words, harm, prepare in [
        ("Terminate", "ends a handler", lambda handler, events: not is_alive(handler.pid), Handler.start),
        ("Suspend", "stops a handler", lambda handler, events: state(handler.pid) == "T", Handler.start),
        ("Interrupt", "interrupts a handler", lambda handler, events: "willResignActive" in events, Handler.start),
        ("Background", "takes a handler from the foreground", lambda handler, events: "didEnterBackground" in events,
         Handler.start),
        ("Activate", "starts a handler without a URL", lambda handler, events: handler.pids(), lambda handler: handler),
        ("Wake", "wakes a handler", lambda handler, events: state(handler.pid) != "T",
         lambda handler: handler.start().suspend())]:
    attack("sandbox", words)(lifecycle(member, harm, prepare))


@attack("sandbox", "sends a notification to a handler")
def notify(session):
    handler = victims(session)
    answer = reaches(flatpak(session)).call(LIFECYCLE, "Notify", "ssv", VICTIM, "evil", ["s", "text"])
    got = wait_until(lambda: any("notification evil" in line for line in handler.events()), 2)
    return bool(got), f"Notify: {said(answer)}"


@attack("sandbox", "ends suspended handlers with RelieveMemory")
def relieve(session):
    handler = victims(session).suspend()
    answer = reaches(flatpak(session)).call(LIFECYCLE, "RelieveMemory")
    ended = wait_until(lambda: not is_alive(handler.pid), 2)
    return bool(ended) or "ok" in answer, f"RelieveMemory: {said(answer)}, ended: {bool(ended)}"


@attack("sandbox", "lets a crashing handler start again with Reset")
def reset(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, "exit=1")
    for _ in range(3):
        handler.open()
    if "quarantined-until" not in session.status():
        raise RuntimeError("the handler may start all the time")
    answer = reaches(flatpak(session)).call(LIFECYCLE, "Reset", "s", VICTIM)
    again = "quarantined-until" not in session.status()
    return again, f"Reset: {said(answer)}"


# Settings


@attack("sandbox", "becomes the default of a scheme")
def default(session):
    victims(session)
    session.swift("org.evil.Other", SCHEME)
    answer = reaches(flatpak(session)).call(REGISTRY, "SetDefault", "ss", SCHEME, "org.evil.Other")
    now = session.run("openurl", "default", SCHEME).output.strip()
    return VICTIM not in now, f"SetDefault: {said(answer)}, the default is {now}"


@attack("sandbox", "unregisters a handler")
def unregister(session):
    victims(session)
    answer = reaches(flatpak(session)).call(REGISTRY, "Unregister", "s", VICTIM)
    there = any(entry["id"] == VICTIM for entry in session.bus.call(REGISTRY, "ListHandlers")[0])
    return not there, f"Unregister: {said(answer)}"


@attack("sandbox", "calls every other method of the router, with arguments that fit")
def every_method(session):
    victims(session)
    session.run("openurl", "--queue", "--timeout", "1s", f"zzz:?{SECRET}")
    text = session.bus.call("org.freedesktop.DBus.Introspectable", "Introspect")[0]
    # A program in a sandbox may open URLs and ask; these methods have attacks of their own.
    allowed = {"OpenURL", "OpenURLs", "Open", "CanOpenURL", "Explain", "List", "ListHandlers", "ListSchemes",
               "BackgroundTimeRemaining", "BeginBackgroundTask", "EndBackgroundTask"}
    values = {"s": VICTIM, "o": "/", "u": 1, "t": 1, "i": 1, "x": 1, "b": True, "v": ["s", "x"], "d": 1.0}
    client, done, tried = reaches(flatpak(session)), [], 0
    for interface in xml.etree.ElementTree.fromstring(text).iter("interface"):
        if not interface.get("name").startswith("org.openurl."):
            continue
        for method in interface.iter("method"):
            kinds = [arg.get("type") for arg in method.iter("arg") if arg.get("direction", "in") == "in"]
            name = method.get("name")
            if name in allowed or "h" in kinds or interface.get("name").endswith(("Callbacks1", "Request1", "Monitor1")):
                continue
            body = [values.get(kind, {} if kind.startswith("a{") else [] if kind[0] == "a" else None) for kind in kinds]
            answer = client.call(interface.get("name"), name, "".join(kinds), *body, limit=8)
            tried += 1
            if "ok" in answer:
                done.append(name)
    return bool(done), f"{tried} methods, answered: {' '.join(done) or 'none'}"


# Signals


@attack("sandbox", "learns from signals what happens")
def signals(session):
    handler = victims(session)
    client = reaches(flatpak(session))
    client.ask(do="watch")
    session.swift("com.example.second", "second")
    session.run("openurl", "--queue", f"{SCHEME}:?{SECRET}")
    handler.suspend()
    handler.open()
    seen = client.ask(do="signals", seconds=2)["ok"]
    names = sorted({name for _, name, body in seen if any(word in json.dumps(body) for word in [VICTIM, SCHEME, "second"])})
    return bool(names), f"signals about others: {' '.join(names) or 'none'} ({len(seen)} in all)"


@attack("sandbox", "reads properties about others")
def properties(session):
    victims(session)
    client = reaches(flatpak(session))
    seen = [client.call("org.freedesktop.DBus.Properties", "GetAll", "s", interface)
            for interface in [ROUTER, REGISTRY, LIFECYCLE, QUEUE, "org.openurl.Policy1", "org.openurl.Monitor1"]]
    return VICTIM in json.dumps(seen), ", ".join(said(answer) for answer in seen)


# Handlers that are not for it


@attack("sandbox", "opens a URL of a handler with OUReach `local`")
def local(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, OUReach="local").start()
    answer = reaches(flatpak(session)).open(f"{SCHEME}:?evil")
    return f"{SCHEME}:?evil" in handler.urls(), f"OpenURL: {said(answer)}"


@attack("sandbox", "finds a handler with OUReach `local` with Explain, of a scheme that its manifest lists")
def explained(session):
    session.begin()
    session.swift(VICTIM, SCHEME, OUReach="local").start()
    session.python(APPLICATION, "evilapp", LSApplicationQueriesSchemes=[SCHEME, "missing"])
    client = reaches(flatpak(session))
    answers = [client.call(ROUTER, "Explain", "sa{sv}", f"{scheme}:x", {}) for scheme in [SCHEME, "missing"]]
    texts = [json.dumps(answer).replace(scheme, "SCHEME") for answer, scheme in zip(answers, [SCHEME, "missing"])]
    return texts[0] != texts[1], f"there: {short(texts[0], 60)}; missing: {short(texts[1], 60)}"


@attack("sandbox", "queues a URL for a handler with OUReach `local`")
def local_queued(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, OUReach="local").start()
    answer = reaches(flatpak(session)).open(f"{SCHEME}:?evil", {"delivery": ["s", "queued"]})
    got = wait_until(lambda: f"{SCHEME}:?evil" in handler.urls(), 2)
    return bool(got), f"OpenURL: {said(answer)}"


@attack("sandbox", "gets to a handler with OUReach `local` as the fallback of a URL")
def local_fallback(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, OUReach="local").start()
    answer = reaches(flatpak(session)).open("zzzzzz:", {"fallback": ["as", [f"{SCHEME}:?evil"]]})
    return f"{SCHEME}:?evil" in handler.urls(), f"OpenURL: {said(answer)}"


@attack("sandbox", "calls Open of a handler with OUReach `listed` without the router")
def direct(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, OUReach="listed", OUAllowedSources=["com.example.friend"])
    session.run("openurl", "activate", VICTIM)
    client = reaches(bound(session))
    answer = client.call("org.openurl.Handler1", "Open", "sa{sv}", f"{SCHEME}:?evil", {}, to=VICTIM)
    return f"{SCHEME}:?evil" in handler.urls(), f"Open: {said(answer)}"


@attack("sandbox", "forges the context of a URL that it hands to a handler itself")
def forged(session):
    session.begin()
    handler = session.swift()
    session.run("openurl", "activate", VICTIM)
    before = len(handler.events())
    context = {"notifications": ["a{sv}", {"time-change": ["s", "forged"]}], "request-id": ["s", "job1"]}
    answer = reaches(bound(session)).call("org.openurl.Handler1", "Open", "sa{sv}", f"{SCHEME}:?evil", context, to=VICTIM)
    events = handler.events()[before:]
    return any("forged" in event or "otification" in event for event in events), f"Open: {said(answer)}, {', '.join(events)}"


@attack("sandbox", "is shown to a handler as a program of the user")
def shown(session):
    session.begin()
    handler = session.python()
    handler.start()
    reaches(flatpak(session)).open(f"{SCHEME}:?evil")
    context = json.loads([line for line in handler.events() if line.startswith("context ")][-1].removeprefix("context "))
    if f"{SCHEME}:?evil" not in handler.urls():
        return False, "the URL was refused"
    text = json.dumps(context)
    return APPLICATION not in text and "sandbox" not in text, f"source: {context.get('source')}"


@attack("sandbox", "gives its display to a handler that it starts")
def display(session):
    session.begin()
    session.python()
    client = flatpak(session)
    answer = client.open(f"{SCHEME}:?evil")
    environment = json.dumps(answer)
    other = session.client("env", "DISPLAY=:4711", "unshare", "--user", "--map-root-user")
    session.swift("com.example.second", "second")
    second = other.open("second:x")
    return ":4711" in environment + json.dumps(second), f"OpenURL: {said(answer)}, {said(second)}"


def service(session, name):
    """Starts a program in a sandbox that takes the name of a service of the session. Returns the log of its calls."""
    info, log = info_file(), f"{session.root}/shared/service.log"
    command = bwrap(session, info, "--unshare-user", "--unshare-pid", "--bind", f"{session.root}/run/bus", "/bus")
    session.start(*command, PYTHON, "-B", f"{HERE}/service.py", name, log, pass_fds=[info],
                  environment={"DBUS_SESSION_BUS_ADDRESS": "unix:path=/bus"})
    os.close(info)
    if not wait_until(lambda: session.owner(name)):
        raise RuntimeError(f"the sandbox does not get the name: {session.log_text()[-300:]}")
    return log


@attack("sandbox", "starts handlers, or chooses their variables, as the service manager of a session without one")
def manager(session):
    session.begin()
    handler = session.swift()
    log = service(session, "org.freedesktop.systemd1")
    run = handler.open(f"?{SECRET}")
    calls = [line.split()[0] for line in lines(log)]
    return bool(calls), f"{run}, the sandbox was called: {', '.join(calls) or 'never'}"


def question(words, name, **variables):
    @attack("sandbox", words)
    def run(session):
        session.environment.update(variables)
        session.begin()
        handler = session.python(OUAsk=True)
        log = service(session, name)
        answer = bound(session).open(f"{SCHEME}:?{SECRET}", limit=10)
        stored = len(session.bus.call("org.openurl.Policy1", "Answers")[0])
        return bool(handler.urls() or stored or lines(log)), \
            f"OpenURL: {said(answer)}, {len(handler.urls())} URLs were opened, {stored} answers are stored"


question("answers the question about itself as the service for notifications", "org.freedesktop.Notifications")
question("answers the question about itself as the dialog of the desktop's portal",
         "org.freedesktop.impl.portal.desktop.gtk", DISPLAY=":77")


@attack("sandbox", "gets URLs for other hosts as the bridge, and forges their outcomes")
def bridge(session):
    session.begin()
    log = service(session, "org.openurl.Bridge1")
    added = session.run("openurl", "hosts", "add", "--bridge", "kiosk")
    run = session.run("openurl", "--to", "kiosk", f"other:?{SECRET}")
    got = wait_until(lambda: lines(log), 3)
    return bool(got), f"hosts add: status {added.status}, {run}, the sandbox got the URL: {bool(got)}"
