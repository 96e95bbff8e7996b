"""A program takes names on the bus that belong to handlers, to services or to the router."""

import os, signal
from attack import *


def stolen(session, squatter, run):
    """Returns whether the squatter got a URL, with the facts."""
    return bool(squatter.urls()), f"{run}, the squatter got {len(squatter.urls())} URLs"


@attack("names", "takes a handler's name before the handler starts")
def squat(session):
    session.begin()
    handler = session.swift()
    squatter = session.squatter(VICTIM)
    return stolen(session, squatter, handler.open(f"?{SECRET}"))


@attack("names", "takes a handler's name before the handler starts, and waits for queued URLs")
def squat_queue(session):
    session.begin()
    session.swift()
    squatter = session.squatter(VICTIM)
    run = session.run("openurl", "--queue", f"{SCHEME}:?{SECRET}")
    wait_until(lambda: squatter.urls() or session.bus.call(QUEUE, "List", "s", [""])[0][0]["attempts"], 3)
    return stolen(session, squatter, run)


@attack("names", "takes a handler's name in the moment in which the handler starts")
def race(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, "startDelay=300")
    process = session.start("openurl", f"{SCHEME}:?{SECRET}")
    wait_until(handler.pids)
    squatter = session.squatter(VICTIM)
    return stolen(session, squatter, f"status {process.wait(25)}")


@attack("names", "takes the name of a handler that is suspended")
def while_suspended(session):
    session.begin()
    handler = session.swift().start().suspend()
    squatter = session.squatter(VICTIM, flags=0)
    return stolen(session, squatter, f"the bus answered {squatter.answer} (1: owner), {handler.open(f'?{SECRET}')}")


@attack("names", "waits in line for the name of a handler that is suspended")
def in_line(session):
    session.begin()
    handler = session.swift().start()
    squatter = session.squatter(VICTIM, flags=0)
    suspended = session.run("openurl", "suspend", VICTIM)
    run = handler.open(f"?{SECRET}")
    return stolen(session, squatter, f"suspend: status {suspended.status}, open: {run}")


@attack("names", "waits in line for the name of a handler that dies")
def in_line_dies(session):
    session.begin()
    handler = session.swift().start()
    squatter = session.squatter(VICTIM, flags=0)
    os.kill(handler.pid, signal.SIGKILL)
    wait_until(lambda: session.owner(VICTIM) == squatter.process.pid)
    return stolen(session, squatter, handler.open(f"?{SECRET}"))


@attack("names", "takes the name of a suspended handler, and gets its notifications")
def suspended_notifications(session):
    session.begin()
    session.swift().start().suspend()
    squatter = session.squatter(VICTIM, flags=0)
    attempt(lambda: session.bus.call(LIFECYCLE, "Notify", "ssv", [VICTIM, "kind", ("s", SECRET)]))
    session.run("openurl", "activate", VICTIM, limit=10)
    got = [line for line in squatter.events() if line.startswith(("call org.openurl", "open"))]
    return bool(got), f"the squatter got {', '.join(got) or 'nothing'}"


@attack("names", "replaces the handler of the library as owner of its name")
def replace(session):
    session.begin()
    handler = session.swift().start()
    squatter = session.squatter(VICTIM, flags=2)
    return stolen(session, squatter, handler.open(f"?{SECRET}"))


@attack("names", "replaces a handler that lets others take its name, and leaves it behind")
def orphan(session):
    session.begin()
    handler = session.python(VICTIM, SCHEME, "replaceable").start()
    first = handler.pid
    squatter = session.squatter(VICTIM, flags=2)
    run = handler.open(f"?{SECRET}")
    squatter.process.kill()
    wait_until(lambda: session.owner(VICTIM) != squatter.process.pid)
    handler.open()
    alive = [pid for pid in handler.pids() if is_alive(pid)]
    return bool(squatter.urls()) or len(alive) > 1, \
        f"{run}, the squatter got {len(squatter.urls())} URLs, {len(alive)} processes of the handler run"


@attack("names", "makes a handler lose its name, so that a second process starts")
def second_process(session):
    session.begin()
    handler = session.python(VICTIM, SCHEME, "replaceable").start()
    for _ in range(3):
        squatter = session.squatter(VICTIM, flags=2 | 4)
        squatter.process.kill()
        wait_until(lambda: session.owner(VICTIM) is None, 3)
        handler.open()
    alive = [pid for pid in handler.pids() if is_alive(pid)]
    return len(alive) > 1, f"{len(alive)} processes of the handler run"


@attack("names", "keeps a handler unreachable through a child with its connection")
def inherited(session):
    session.begin()
    handler = session.python(VICTIM, SCHEME, "child").start()
    os.kill(handler.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(handler.pids()[0]))
    run = handler.open("?again")
    return f"{SCHEME}:?again" not in handler.urls(), f"{run}, {len(handler.pids())} starts"


@attack("names", "takes the name of another handler as a handler")
def handler_squats(session):
    session.begin()
    handler = session.swift()
    session.python("com.example.bad", "bad", f"take={VICTIM}").start()
    handler.open(f"?{SECRET}")
    bad = lines(f"{session.root}/com.example.bad.log")
    got = [line for line in bad if SECRET in line and line.startswith("open")]
    return bool(got), f"the other handler got {len(got)} URLs"


# Names of others as identifiers


def service_file(session, directory, file, name):
    os.makedirs(f"{directory}/dbus-1/services", exist_ok=True)
    with open(f"{directory}/dbus-1/services/{file}", "w") as out:
        out.write(f"[D-BUS Service]\nName={name}\nExec=/bin/false\n")


def refused(session, id, *options):
    """Tries to register an identifier. Returns whether it was registered."""
    run = session.register_path(session.manifest(id, "shadow", f"{session.programs}/testhandler", [id, "/dev/null"]), *options)
    there = any(entry["id"] == id for entry in session.bus.call(REGISTRY, "ListHandlers")[0])
    return run.status == 0 or there, f"{run}"


@attack("names", "registers a name that a service file of another name declares")
def shadow(session):
    service_file(session, f"{session.root}/data", "something-else.service", "com.example.service")
    session.begin()
    return refused(session, "com.example.service")


@attack("names", "registers a name that a service file of the system declares")
def shadow_system(session):
    directory = f"{session.root}/system"
    service_file(session, directory, "zzz.service", "com.example.service")
    session.environment["XDG_DATA_DIRS"] = f"{directory}:" + session.environment["XDG_DATA_DIRS"]
    session.begin()
    return refused(session, "com.example.service")


@attack("names", "links a manifest with the name of a service, without the router")
def shadow_link(session):
    service_file(session, f"{session.root}/data", "something-else.service", "com.example.service")
    path = session.manifest("com.example.service", "shadow", f"{HERE}/handler.py",
                            ["com.example.service", f"{session.root}/service.log"], f"{session.root}/data/openurl/handlers")
    session.begin()
    run = session.run("openurl", "shadow:x", limit=10)
    ran = os.path.exists(f"{session.root}/service.log")
    return ran, f"{os.path.basename(path)}: {run}, the program ran: {ran}"


@attack("names", "registers a name that a running program owns")
def running(session):
    session.begin()
    session.squatter("com.example.running")
    return refused(session, "com.example.running")


for id in ["org.freedesktop.Notifications", "org.freedesktop.portal.Desktop", "org.freedesktop.systemd1",
           "org.freedesktop.DBus", "org.openurl.Router1", "org.openurl.Evil"]:
    attack("names", f"registers as {id}")(lambda session, id=id: (session.begin(), refused(session, id))[1])


@attack("names", "registers another program under a registered identifier")
def over(session):
    session.begin()
    handler = session.swift()
    log = f"{session.root}/evil.log"
    run = session.register_path(session.manifest(VICTIM, SCHEME, f"{HERE}/handler.py", [VICTIM, log]))
    opened = handler.open(f"?{SECRET}")
    got = any(SECRET in line for line in lines(log))
    return got, f"register: {run}, open: {opened}, the other program got the URL: {got}"


def newcomer(name, may_warn=False, **keys):
    """Declares an attack with a claim on another handler's URLs.

    - may_warn: whether the claim is allowed, if `openurl register` names the handler that loses the URLs.
    """

    @attack("names", name)
    def run(session):
        session.begin()
        session.swift().start()
        evil = session.python("aaa.example.evil", SCHEME, **keys)
        session.run("openurl", f"{SCHEME}://host.example.com/{SECRET}")
        warned = may_warn and VICTIM in evil.warnings
        return bool(evil.urls()) and not warned, \
            f"the newcomer got {len(evil.urls())} URLs" + (f", register said: {short(evil.warnings, 90)}" if warned else "")


newcomer("claims the scheme of a handler")
newcomer("claims a host of another handler's scheme", may_warn=True, hosts=["*.example.com"])
newcomer("claims the scheme of a handler as fixed", OUFixed=True)


@attack("names", "makes a program the default of a scheme that it does not claim")
def default(session):
    session.begin()
    session.swift()
    session.python("org.evil.Other", "other")
    run = session.run("openurl", "default", SCHEME, "org.evil.Other")
    now = session.run("openurl", "default", SCHEME).output.strip()
    return "org.evil.Other" in now, f"{run}, the default is {now}"


# The router's name


def hostile(session, flags=4):
    return session.squatter(ROUTER, "router", flags=flags)


def trusting(session, router, *command):
    """Returns whether the command took a hostile router for the router, without a word."""
    run = session.run(*command, limit=10)
    return run.status == 0 and not run.errors, f"{short(run, 60)}: {short(run.errors.strip() or 'not a word', 80)}"


@attack("names", "takes the router's name before the router starts")
def router(session):
    session.begin()
    return trusting(session, hostile(session), "openurl", f"{SCHEME}:?{SECRET}")


@attack("names", "waits for the router's name while the router restarts")
def router_in_line(session):
    session.begin()
    router = session.router
    squatter = hostile(session, 0)
    os.kill(router, signal.SIGKILL)
    wait_until(lambda: session.owner(ROUTER) == squatter.process.pid)
    return trusting(session, squatter, "openurl", f"{SCHEME}:?{SECRET}")


@attack("names", "replaces the router as owner of its name")
def router_replaced(session):
    session.begin()
    before = session.router
    squatter = session.squatter(ROUTER, "router", flags=2 | 4)
    return session.owner(ROUTER) != before, f"the bus answered {squatter.answer} (3: refused)"


@attack("names", "gets what the library of a handler sends to the router")
def router_library(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, f"forward=other:?{SECRET}")
    session.run("openurl", "activate", VICTIM)
    router = session.router
    squatter = hostile(session, 0)
    os.kill(router, signal.SIGKILL)
    wait_until(lambda: session.owner(ROUTER) == squatter.process.pid)
    attempt(lambda: session.bus.call("org.openurl.Handler1", "Open", "sa{sv}", [f"{SCHEME}:x", {}], VICTIM,
                                     "/" + VICTIM.replace(".", "/"), wait=5))
    got = any(SECRET in line for line in squatter.events())
    return got, f"the hostile router got the URL: {got}, {len(handler.urls())} URLs at the handler"
