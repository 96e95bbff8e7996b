"""A program lets the router, or the library of a handler, do harm to others."""

import json, os, signal
from attack import *
from identity import in_namespace

HANDLER = "org.openurl.Handler1"


def running(words, program):
    @attack("deputy", words)
    def run(session):
        session.begin()
        stranger = session.squatter("com.example.running")
        path = session.manifest("com.example.running", "running", program(session), ["com.example.running", "/dev/null"])
        register = session.register_path(path)
        ends = [session.run("openurl", word, "com.example.running", limit=8) for word in ["activate", "suspend", "terminate"]]
        harm = not is_alive(stranger.process.pid) or state(stranger.process.pid) == "T"
        return harm, f"register: status {register.status}, terminate: {short(ends[-1], 60)}, the program runs: {not harm}"


running("registers the name of a running program, and has the router end the program",
        lambda session: f"{session.programs}/testhandler")
running("registers a running program with its name, and has the router end the program",
        lambda session: f"{HERE}/squatter.py")


@attack("deputy", "has the router end a program that hangs and owns a handler's name")
def watchdog(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, OUOpenTimeout=1, OUTransitionTimeout=1)
    stranger = session.squatter(VICTIM, "hang")
    os.kill(stranger.process.pid, signal.SIGSTOP)
    run = handler.open("?x", "--timeout", "6s")
    runs = session.run("openurl", "terminate", VICTIM, limit=6)
    os.kill(stranger.process.pid, signal.SIGCONT) if is_alive(stranger.process.pid) else None
    harm = not is_alive(stranger.process.pid)
    return harm, f"open: {short(run, 60)}, terminate: status {runs.status}, the program runs: {not harm}"


@attack("deputy", "has the router end the program that got the number of a handler")
def innocent(session):
    facts = in_namespace(session, "innocent")
    return facts.startswith("HARM"), facts.partition(" ")[2]


def direct(member, signature, body, harm):
    def run(session):
        session.begin()
        handler = session.swift().start()
        before = len(handler.events())
        said = attempt(lambda: session.bus.call(HANDLER, member, signature, body, VICTIM, "/" + VICTIM.replace(".", "/"),
                                                wait=5))
        done = wait_until(lambda: harm(handler, handler.events()[before:]), 2)
        return bool(done), f"{member}: {said}, {', '.join(handler.events()[before:]) or 'nothing happened'}"
    return run


for member, signature, body, words, harm in [
        ("Terminate", "", [], "tells a handler to end, past the router", lambda handler, events: "willTerminate" in events),
        ("EnterBackground", "", [], "sends a handler to the background, past the router",
         lambda handler, events: "didEnterBackground" in events),
        ("ResignActive", "", [], "interrupts a handler, past the router", lambda handler, events: "willResignActive" in events),
        ("ReceiveMemoryWarning", "", [], "warns a handler of low memory, past the router",
         lambda handler, events: "didReceiveMemoryWarning" in events),
        ("Notify", "a{sv}", [{"evil": ("s", "text")}], "notifies a handler, past the router",
         lambda handler, events: any("notification evil" in line for line in events))]:
    attack("deputy", words)(direct(member, signature, body, harm))


@attack("deputy", "expires the background tasks of a handler, past the router")
def expire(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, "task=long").start()
    session.run("openurl", "background", VICTIM)
    wait_until(lambda: "task began" in handler.events())
    said = attempt(lambda: session.bus.call(HANDLER, "ExpireBackgroundTasks", "", [], VICTIM, "/com/example/victim", wait=5))
    expired = wait_until(lambda: "expired long" in handler.events(), 2)
    return bool(expired), f"ExpireBackgroundTasks: {said}"


@attack("deputy", "lets a handler give its name back with Suspend, past the router")
def suspend(session):
    session.begin()
    handler = session.swift().start()
    session.run("openurl", "background", VICTIM)
    read, write = os.pipe()
    said = attempt(lambda: session.bus.call(HANDLER, "Suspend", "h", [0], VICTIM, "/" + VICTIM.replace(".", "/"),
                                            fds=[read], wait=5))
    gone = wait_until(lambda: session.owner(VICTIM) != handler.pid, 1)
    run = handler.open("?after")
    return bool(gone) or run.status != 0, f"Suspend: {said}, the handler lost its name: {bool(gone)}, open: {run}"


@attack("deputy", "opens a URL of a handler with OUReach `listed`, past the router")
def open_direct(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, OUReach="listed", OUAllowedSources=["com.example.friend"])
    session.run("openurl", "activate", VICTIM)
    context = {"source-application": ("s", "com.example.friend")}
    said = attempt(lambda: session.bus.call(HANDLER, "Open", "sa{sv}", [f"{SCHEME}:?evil", context], VICTIM,
                                            "/" + VICTIM.replace(".", "/"), wait=5))
    return f"{SCHEME}:?evil" in handler.urls(), f"Open: {said}"


def as_handler(member, interface, signature, body, harm, words):
    @attack("deputy", words)
    def run(session):
        session.begin()
        handler = session.swift(VICTIM, SCHEME).start()
        bad = session.python("com.example.bad", "bad", "calls").start()
        session.swift("com.example.no", "no", "decline=no")
        session.run("openurl", "--queue", f"no:?{SECRET}")
        said = bad_call(session, bad, interface, member, signature, body(session))
        done = wait_until(lambda: harm(session, handler, said), 2)
        return bool(done), f"{member}: {short(said, 80)}"


def bad_call(session, bad, interface, member, signature, body):
    """Lets the process of a handler call the router."""
    return session.bus.call("com.example.Puppet", "Call", "ssss", [interface, member, signature, json.dumps(body)],
                            bad.id, "/", wait=20)[0]


as_handler("Terminate", LIFECYCLE, "s", lambda session: [VICTIM],
           lambda session, handler, said: not is_alive(handler.pid), "ends another handler, as a handler")
as_handler("Suspend", LIFECYCLE, "s", lambda session: [VICTIM],
           lambda session, handler, said: state(handler.pid) == "T", "stops another handler, as a handler")
as_handler("List", QUEUE, "s", lambda session: [""],
           lambda session, handler, said: SECRET in said, "reads the queue of others, as a handler")
as_handler("Register", REGISTRY, "s", lambda session: [session.manifest("com.example.more", "more", "/bin/true")],
           lambda session, handler, said: said.startswith("answered"), "registers another handler, as a handler")
as_handler("SetDefault", REGISTRY, "ss", lambda session: ["bad", "com.example.bad"],
           lambda session, handler, said: said.startswith("answered"), "sets a default, as a handler")
as_handler("ListHandlers", REGISTRY, "", lambda session: [],
           lambda session, handler, said: VICTIM in said, "lists the other handlers, as a handler")
as_handler("Notify", LIFECYCLE, "ssv", lambda session: [VICTIM, "evil", ["s", "text"]],
           lambda session, handler, said: any("notification evil" in line for line in handler.events()),
           "notifies another handler, as a handler")
as_handler("RelieveMemory", LIFECYCLE, "", lambda session: [],
           lambda session, handler, said: said.startswith("answered"), "relieves the memory of others, as a handler")
as_handler("CanOpenURL", ROUTER, "s", lambda session: [f"{SCHEME}:"],
           lambda session, handler, said: "True" in said, "asks for schemes that its manifest does not name, as a handler")
