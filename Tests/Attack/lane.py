"""A program uses the router's own socket instead of the bus."""

import array, ctypes, os, select, signal, socket, struct, subprocess, time
import sandboxes
from attack import *
from bus import CALL, ERROR, RETURN, SIGNAL, Lane, encode, lane_path
from exhaustion import begin as begin_measured, flooder, judge, measure, memory
from identity import in_namespace

LIMIT = 5  # seconds that a person waits
LIBC = ctypes.CDLL(None, use_errno=True)


def begin(session, **keys):
    """Begins the session with a router, its socket, and a handler. Returns the handler."""
    session.begin()
    handler = session.swift(**keys)
    session.router
    session.lane = path(session)
    return handler


def path(session):
    """The path of the router's socket, when the socket is there."""
    directory = session.environment["XDG_RUNTIME_DIR"]
    if not wait_until(lambda: os.path.isdir(f"{directory}/openurl") and any(
            name.startswith("lane-") for name in os.listdir(f"{directory}/openurl"))):
        raise RuntimeError("the router has no socket")
    return lane_path(directory)


def received(lane, member, seconds=0):
    """Returns the calls of a method that have arrived at a connection."""
    found, end = [], time.monotonic() + seconds
    try:
        while True:
            message = lane.receive(max(0, end - time.monotonic()))
            if message.kind == CALL and message.member == member:
                found.append(message)
    except NoAnswer:
        return found


# The check of the attacks themselves


def users(session, pid):
    """The number of connections of the router's socket that a process and the router share, by the kernel's list of sockets."""
    run = session.run("ss", "-xpH", "state", "connected")
    return sum(session.lane in line for line in run.output.splitlines() if f"pid={session.router}," in line)


@attack("lane", "uses the lane as any program of the user may (the check of the attacks themselves)")
def itself(session):
    handler = begin(session).start()
    with_handler = users(session, handler.pid)
    lane = Lane(session.lane)
    before = len(handler.urls())
    lane.open("victim:over-the-lane")
    took = handler.urls()[before:]
    return with_handler < 1 or took != ["victim:over-the-lane"], f"{with_handler} connections of the handler; it took {took}"


# Names of others


def offers(session, lane):
    lane.offer(VICTIM)
    return lane


@attack("lane", "offers itself for a handler before the handler starts")
def offer_before(session):
    handler = begin(session)
    lane = offers(session, Lane(session.lane))
    runs = [handler.open(f"?{number}").status for number in range(3)]
    got = received(lane, "Open")
    return bool(got) or runs != [0] * 3 or len(handler.urls()) != 3, f"{len(got)} URLs for the attacker, the opens ended with {runs}"


@attack("lane", "offers itself for a handler that runs")
def offer_running(session):
    handler = begin(session).start()
    lane = offers(session, Lane(session.lane))
    runs = [handler.open(f"?{number}").status for number in range(3)]
    got = received(lane, "Open")
    return bool(got) or runs != [0] * 3 or len(handler.urls()) != 4, f"{len(got)} URLs for the attacker, the opens ended with {runs}"


@attack("lane", "offers itself for a handler that is suspended")
def offer_suspended(session):
    handler = begin(session).start().suspend()
    lane = offers(session, Lane(session.lane))
    run = handler.open("?woken")
    got = received(lane, "Open")
    return bool(got) or run.status != 0 or len(handler.urls()) != 2, f"{len(got)} URLs for the attacker, the open ended with {run}"


@attack("lane", "offers itself for a handler, and takes its name when the handler ends")
def offer_after(session):
    handler = begin(session).start()
    lane = offers(session, Lane(session.lane))
    session.run("openurl", "terminate", VICTIM)
    owner = Bus()
    owner.own(VICTIM)
    run = handler.open("?secret")
    got = received(lane, "Open")
    return any("secret" in str(call.body) for call in got), f"{len(got)} URLs for the attacker, the open ended with {run}"


@attack("lane", "offers itself for 100,000 names")
def offer_many(session):
    handler = begin(session).start()
    lane, router = Lane(session.lane), session.router
    before, taken, sent = memory(router), 0, 0
    try:
        for sent in range(100_000):
            lane.begin("org.openurl.Lane1", "Offer", "s", [f"com.example.n{sent}"], path="/org/openurl/Lane1")
            while select.select([lane.socket], [], [], 0)[0]:
                taken += lane.receive_new().kind == RETURN
        lane.call_lane("Hello", wait=60)
    except (OSError, NoAnswer):
        pass  # The router need not listen to such a program.
    taken += sum(message.kind == RETURN for message in lane.waiting)
    grown = memory(router) - before
    run = handler.open("?after")
    return not 0 < taken <= 100 or grown > 64 or run.status != 0, f"{taken} of {sent} offers taken, the router grew by {grown} MiB, {run}"


@attack("lane", "says Hello 50,000 times")
def hello_often(session):
    handler = begin(session).start()
    lane, router = Lane(session.lane), session.router
    before, names = memory(router), {lane.name}
    for _ in range(50_000):
        lane.begin("org.openurl.Lane1", "Hello", path="/org/openurl/Lane1")
        while select.select([lane.socket], [], [], 0)[0]:
            names.update(lane.receive_new().body)
    # The last calls may be refused as long as too many wait.
    wait_until(lambda: attempt(lambda: names.add(lane.call_lane("Hello", wait=60)[0])) == "answered")
    grown = memory(router) - before
    run = handler.open("?after")
    return len(names) != 1 or grown > 32 or run.status != 0, f"{len(names)} names, the router grew by {grown} MiB, {run}"


@attack("lane", "states another sender and another destination in its calls")
def forged_sender(session):
    handler = begin(session).start()
    lane, told = Lane(session.lane), []
    vault = session.python("com.example.vault", "vault", OUAllowedSources=[VICTIM])
    for sender in [session.bus.name, ":lane.1", ":1.1", VICTIM, ROUTER]:
        fields = {"path": "/org/openurl/Router1", "interface": ROUTER, "member": "OpenURL", "destination": ROUTER, "sender": sender}
        told.append(attempt(lambda: lane.answer(lane.send(CALL, fields, "sa{sv}", ["vault:evil", {}]))))
    lane.begin(ROUTER, "OpenURL", "sa{sv}", [f"{SCHEME}:elsewhere", {}], to="com.example.other")
    attempt(lambda: lane.call_lane("Hello"))
    return bool(vault.urls()), f"OpenURL: {told}, the handler of another took {len(vault.urls())} URLs"


# Confined programs


def confined(session, info=True):
    """Returns a caller in a sandbox into which the directory of the router's socket is bound."""
    descriptor = sandboxes.info_file()
    directory = os.path.dirname(session.lane)
    command = sandboxes.bwrap(session, descriptor if info else None, "--unshare-user", "--unshare-pid", "--bind", directory, "/lane")
    client = session.client(*command, pass_fds=[descriptor], environment={"LANE": f"/lane/{os.path.basename(session.lane)}"})
    os.close(descriptor)
    if client.ask(do="can", file=f"{session.root}/log").get("ok") is not False:
        raise RuntimeError(f"the sandbox is none: {session.log_text()[-300:]}")
    return client


def forbidden(session, client, handler):
    """Calls what a confined program may not, and returns whether anything was done, with the answers."""
    mark = f"{session.root}/outside"
    manifest = session.manifest("org.evil.Out", "getout", "/bin/sh", ["-c", f"touch {mark}"], f"{session.root}/shared/evil")
    if "ok" not in client.call("org.freedesktop.DBus.Peer", "Ping"):
        raise RuntimeError("the sandbox does not reach the router")
    calls = {"Register": (REGISTRY, "s", manifest), "Unregister": (REGISTRY, "s", VICTIM), "SetDefault": (REGISTRY, "ss", SCHEME, VICTIM),
             "ListHandlers": (REGISTRY, ""), "Reload": (REGISTRY, ""), "Terminate": (LIFECYCLE, "s", VICTIM),
             "Suspend": (LIFECYCLE, "s", VICTIM), "RelieveMemory": (LIFECYCLE, ""), "Subscribe": ("org.openurl.Monitor1", "a{sv}", {})}
    told = {member: said(client.call(interface, member, signature, *body)) for member, (interface, signature, *body) in calls.items()}
    listed = [entry["id"] for entry in session.bus.call(REGISTRY, "ListHandlers")[0]]
    harm = os.path.exists(mark) or "org.evil.Out" in listed or VICTIM not in listed or not is_alive(handler.pid) or state(handler.pid) == "T"
    done = [member for member, word in told.items() if word == "answered" and member != "Reload"]
    return harm or any(member not in ["ListHandlers"] for member in done), f"answered: {done or 'nothing'}, {told['Register']}"


@attack("lane", "is in a Flatpak that sees the socket, and calls what it may not")
def sandboxed(session):
    handler = begin(session).start()
    return forbidden(session, confined(session), handler)


@attack("lane", "is in a bare bwrap that sees the socket, and calls what it may not")
def sandboxed_bare(session):
    handler = begin(session).start()
    return forbidden(session, confined(session, info=False), handler)


@attack("lane", "is in a sandbox that sees the socket, and offers itself for a handler")
def sandboxed_offer(session):
    handler = begin(session)
    client = confined(session)
    answer = client.call("org.openurl.Lane1", "Offer", "s", VICTIM, path="/org/openurl/Lane1")
    runs = [handler.open(f"?{number}").status for number in range(3)]
    signals = client.ask(do="signals", seconds=1)
    return runs != [0] * 3 or len(handler.urls()) != 3 or "Open" in str(signals), f"Offer: {said(answer)}, opens ended with {runs}"


# Identities


@attack("lane", "connects in a sandbox, and lets a child go on when the process of the connection has gone")
def gone(session):
    handler = begin(session).start()
    mark = f"{session.root}/outside"
    manifest = session.manifest("org.evil.Out", "getout", "/bin/sh", ["-c", f"touch {mark}"], f"{session.root}/shared/evil")
    code = (f"import sys; sys.path.insert(0, {HERE!r}); from bus import *\n"
            f"first, (read, write) = os.getpid(), os.pipe()\n"
            f"if os.fork(): os.close(write); os.read(read, 1); os._exit(0)\n"
            f"bus, second = Lane(), os.getpid()\n"
            f"if os.fork(): os._exit(0)\n"
            f"while os.getppid() == second: time.sleep(0.01)\n"
            f"try: bus.call('org.openurl.Registry1', 'Register', 's', [{manifest!r}]); print('answered', flush=True)\n"
            f"except BusError as error: print(error.short, flush=True)\n")
    info = sandboxes.info_file()
    command = sandboxes.bwrap(session, info, "--unshare-user", "--unshare-pid", "--bind", os.path.dirname(session.lane), "/lane")
    run = session.run(*command, PYTHON, "-c", code, pass_fds=[info], environment={"LANE": f"/lane/{os.path.basename(session.lane)}"})
    if not run.output:
        raise RuntimeError(run.errors)
    listed = any(entry["id"] == "org.evil.Out" for entry in session.bus.call(REGISTRY, "ListHandlers")[0])
    return listed, f"Register: {run.output.strip()}"


def reused(scenario, words):
    @attack("lane", words)
    def run(session):
        facts = in_namespace(session, scenario)
        return facts.startswith("HARM"), facts.partition(" ")[2]


reused("lane", "keeps a connection whose process has exited, until the handler gets the number of the process")
reused("lane_waiting", "connects while the router is stopped, and another program gets the number of the process meanwhile")


def take_connection(session, pid):
    """Takes a copy of a handler's connection to the router, as a child of the handler would keep it."""
    process, copies = os.pidfd_open(pid), []
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            if not os.readlink(f"/proc/{pid}/fd/{number}").startswith("socket:"):
                continue
        except FileNotFoundError:
            continue
        copy = LIBC.syscall(438, process, int(number), 0)  # pidfd_getfd
        if copy < 0:
            raise Skip("this user may not copy descriptors of other processes")
        kept = socket.socket(fileno=copy)
        try:
            if kept.family == socket.AF_UNIX and kept.getpeername() == session.lane:
                copies.append(kept)
                continue
        except OSError:
            pass
        kept.close()
    if len(copies) != 1:
        raise RuntimeError(f"the handler has {len(copies)} connections to the router's socket")
    return copies[0]


@attack("lane", "keeps the connection of a handler that is killed with a URL in hand")
def kept_connection(session):
    begin(session)
    handler = session.swift("com.example.stall", "stall", "stall-url=stall:?hold", OUOpenTimeout=600).start()
    kept = take_connection(session, handler.pid)
    process = session.start("openurl", "stall:?hold")
    if not wait_until(lambda: "stall:?hold" in handler.urls()):
        raise RuntimeError("the handler does not get the URL")
    start = time.monotonic()
    os.kill(handler.pid, signal.SIGKILL)
    try:
        status = process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        status = "none"
    seconds = time.monotonic() - start
    run = handler.open("?next")
    kept.close()
    return status == "none" or run.status != 0, f"the open ended with status {status} after {seconds:.1f} s, the next one with {run}"


# A program that poses as the router


def posing(session, how):
    log = f"{session.root}/posing.log"
    session.start(PYTHON, "-B", f"{HERE}/lane_router.py", how, session.lane, log)
    if not wait_until(lambda: "ready" in lines(log)):
        raise RuntimeError("the program does not start")
    return log


for how in ["serve", "silent", "mute", "full"]:
    @attack("lane", f"replaces the socket, poses as the router there ({how}), and waits for the command's URL")
    def pose(session, how=how):
        handler = begin(session).start()
        log, start = posing(session, how), time.monotonic()
        run = handler.open("?secret")
        seconds = time.monotonic() - start
        stolen = [line for line in lines(log) if "secret" in line]
        return bool(stolen) or run.status != 0 or "victim:?secret" not in handler.urls() or seconds > LIMIT, \
            f"{len(stolen)} URLs for the attacker, {run} after {seconds:.1f} s"

    @attack("lane", f"replaces the socket, poses as the router there ({how}), and waits for the URL of a Swift program")
    def pose_library(session, how=how):
        handler = begin(session)
        vault = session.python("com.example.vault", "vault")
        sender = session.swift("com.example.sender", "sender", "forward=vault:secret")
        log, start = posing(session, how), time.monotonic()
        run = sender.open("?now")
        seconds = time.monotonic() - start
        stolen = [line for line in lines(log) if "secret" in line]
        return bool(stolen) or run.status != 0 or vault.urls() != ["vault:secret"] or seconds > 3 * LIMIT, \
            f"{len(stolen)} URLs for the attacker, {run} after {seconds:.1f} s, {len(vault.urls())} arrived"

    @attack("lane", f"replaces the socket, poses as the router there ({how}), and sends URLs to a handler")
    def pose_handler(session, how=how):
        handler = begin(session)
        log, start = posing(session, how), time.monotonic()
        run = handler.open("?real")
        seconds = time.monotonic() - start
        return handler.urls() != ["victim:?real"] or run.status != 0 or seconds > 2 * LIMIT, \
            f"the handler took {handler.urls()}, {run} after {seconds:.1f} s"


@attack("lane", "removes the socket while handlers run")
def removed(session):
    handler = begin(session).start()
    os.unlink(session.lane)
    runs = [handler.open(f"?{number}").status for number in range(3)]
    return runs != [0] * 3 or len(handler.urls()) != 4, f"the opens ended with {runs}"


# The end of the router


@attack("lane", "calls 4,000 times without reading, and keeps the router from exiting", limit=60)
def unread_at_the_end(session):
    begin(session)
    lanes, router = [Lane(session.lane) for _ in range(20)], session.router
    for lane in lanes:
        for _ in range(200):
            lane.begin("org.freedesktop.DBus.Introspectable", "Introspect")
    wait_until(lambda: all(select.select([lane.socket], [], [], 0)[0] for lane in lanes))
    start = time.monotonic()
    os.kill(router, signal.SIGTERM)
    wait_until(lambda: not is_alive(router), 30)
    seconds = time.monotonic() - start
    return is_alive(router), f"{seconds:.1f} s after the signal, the router {'runs' if is_alive(router) else 'has exited'}"


# Exhaustion


class Raw:
    """A connection to the router's socket that sends what it likes."""

    def __init__(self, path, data=b"", authenticates=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(5)
        self.socket.connect(path)
        if authenticates:
            self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
            self.socket.recv(100)
            self.socket.sendall(b"BEGIN\r\n")
        self.sent = 0
        try:
            while self.sent < len(data):
                self.sent += self.socket.send(data[self.sent:self.sent + (1 << 20)])
        except OSError:
            pass


def prepare(session, **keys):
    handler = begin_measured(session, **keys)
    session.lane = path(session)
    return handler


def after(session, *floods, close=()):
    """Measures another caller, closes the attacker's connections, and judges. The command has to work as well."""
    run = session.run("openurl", f"{SCHEME}:?command")
    times, peak = measure(session)
    if run.status != 0:
        times.append(f"openurl: {run}")
    for connection in close:
        connection.socket.close()
    return judge(session, times, peak, *floods)


def whole(size):
    """A call of the router with an argument of a size."""
    return encode(CALL, 1, {"path": "/org/openurl/Router1", "interface": ROUTER, "member": "CanOpenURL", "destination": ROUTER},
                  "s", ["x" * size])


def exhausting(words, count, make, limit=60):
    @attack("lane", words, limit=limit, alone=True)
    def run(session):
        prepare(session)
        connections = []
        for _ in range(count):
            try:
                connections.append(make(session.lane))
            except OSError:
                pass
        harm, facts = after(session, close=connections)
        return harm, f"{len(connections)} connections, {facts}"


exhausting("opens 300 connections", 300, Lane)
exhausting("opens 300 connections, and never authenticates", 300, lambda path: Raw(path, authenticates=False))
exhausting("sends garbage instead of authenticating", 300, lambda path: Raw(path, b"\xff" * 100_000, authenticates=False))
exhausting("sends garbage instead of messages", 300, lambda path: Raw(path, bytes(range(256)) * 4000))
exhausting("sends half a message on 300 connections", 300, lambda path: Raw(path, whole(100)[:-50]))
exhausting("sends 1 MB of a call of 1.1 MB on 300 connections", 300, lambda path: Raw(path, whole(1_100_000)[:1_050_000]))
exhausting("sends half a message of 15 MB on 200 connections", 200, lambda path: Raw(path, whole(15_000_000)[:14_500_000]))
exhausting("sends a message of 200 MB", 1, lambda path: Raw(path, struct.pack("<BBBBII", ord("l"), 1, 0, 1, 200_000_000, 1) + bytes(1 << 20)))


@attack("lane", "sends signals and answers that nobody asked for", limit=60, alone=True)
def unasked(session):
    handler = prepare(session)
    lane = Lane(session.lane)
    lane.offer(VICTIM)
    for number in range(1, 20_000):
        if number % 3 == 0:
            change = [VICTIM, "", lane.name] if number % 2 else [lane.name, lane.name, ""]
            lane.send(SIGNAL, {"path": "/org/freedesktop/DBus", "interface": BUS, "member": "NameOwnerChanged", "sender": BUS},
                      "sss", change)
        elif number % 3 == 1:
            lane.send(RETURN, {"serial": number, "sender": VICTIM}, "ba{sv}a(stb)", [True, {}, []])
        else:
            lane.send(ERROR, {"serial": number, "error": "org.openurl.Error.HandlerEnding", "sender": VICTIM}, "s", ["x"])
    lane.call_lane("Hello")
    harm, facts = after(session, close=[lane])
    return harm or "victim:?command" not in handler.urls(), facts


@attack("lane", "watches the requests on 16 connections, and reads nothing", limit=120, alone=True)
def unread_signals(session):
    prepare(session)
    watching, caller = [Lane(session.lane) for _ in range(16)], Lane(session.lane)
    for lane in watching:
        lane.call("org.openurl.Monitor1", "Subscribe", "a{sv}", [{}])
    for _ in range(400):
        for number in [caller.begin(ROUTER, "Open", "s", [f"nosuch:{'y' * 2000}"]) for _ in range(50)]:
            attempt(lambda: caller.answer(number))
    grown = memory(session.router_before) - (session.before["memory"] >> 10)
    harm, facts = after(session, close=[*watching, caller])
    return harm or grown > 128, f"the router grew by {grown} MiB, {facts}"


@attack("lane", "sends 32 descriptors before the rest of their message on each of 100 connections", limit=60, alone=True)
def early_descriptors(session):
    prepare(session)
    connections, part = [], whole(100)[:20]
    with open(os.devnull) as null:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null.fileno()] * 16))]
        for _ in range(100):
            connections.append(Raw(session.lane))
            try:
                for piece in [part[:16], part[16:]]:
                    connections[-1].socket.sendmsg([piece], rights)
            except OSError:
                pass  # The router need not listen to such a program.
    connections.append(Lane(session.lane))
    held = session.descriptors(session.router_before) - session.before["descriptors"]
    harm, facts = after(session, close=connections)
    return harm or held > 512, f"the router holds {held} more descriptors, {facts}"


def flood(words, kind, *arguments, limit=60):
    @attack("lane", words, limit=limit, alone=True)
    def run(session):
        prepare(session)
        process = flooder(session, kind, "lane", *arguments)
        return after(session, process)


flood("has 20,000 calls in flight on one connection", "opens", "calls=20000", "once")
flood("has 100,000 calls in flight on 100 connections", "opens", "connections=100", "calls=1000", "once")
flood("has 500 calls of 900 kB in flight on 50 connections", "opens", "connections=50", "bytes=900000", "calls=10", "once")
flood("holds 5,000 descriptors in calls that never end", "opens", "connections=25", "descriptors=16", "calls=14", "once")
flood("sends calls with descriptors without end, and leaves each time", "opens", "connections=25", "descriptors=16", "calls=10", "leave")
flood("reads no answers to 30,000 lists", "lists", "calls=30000", "unread", "once")
flood("reads no answers to lists on 100 connections", "lists", "connections=100", "calls=6000", "unread", "once")
flood("explains URLs without end", "asks", "calls=500", "unread")
flood("opens and leaves 100 connections again and again", "asks", "connections=100", "calls=1", "leave")
