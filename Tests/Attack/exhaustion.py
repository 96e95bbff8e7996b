"""A program takes all it can get. Another caller has to be served meanwhile, and the router has to get everything back."""

import json, os, select, subprocess, time
from attack import *
from sandboxes import flatpak

LIMIT = 5  # seconds in which another caller has to be served
PEAK = 256  # MiB by which the router may grow for a while
BACK = 20  # seconds in which the router has to get everything back
REST = 64  # MiB by which the router may stay larger
STALLED = "com.example.stalled"
PLAIN = "com.example.plain"


def begin(session, *behaviour, **keys):
    """Begins the session with a warm handler, a handler that never answers, and a polite caller."""
    session.begin()
    session.start_router(descriptors=1024)
    handler = session.swift(VICTIM, SCHEME, *behaviour, **keys).start()
    session.python(STALLED, "stalled", f"until={session.root}/release", OUOpenTimeout=600)
    session.polite_caller = session.polite()
    session.polite_caller.open(f"{SCHEME}:?before")
    session.router_before = session.router
    session.before = session.cost()
    return handler


def flooder(session, kind, *words, first_round=20):
    """Starts a program that floods, and waits for its first round. The file of the program is its own."""
    program, environment = session.other_program()
    process = session.start(program, "-B", f"{HERE}/flooder.py", kind, *words, environment=environment, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    if first_round:
        select.select([process.stdout], [], [], first_round)
    return process


def memory(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4 >> 10


def measure(session, url=f"{SCHEME}:?polite", count=20, limit=LIMIT, **more):
    """Measures another caller. Returns its times, and the largest memory of the router meanwhile in MiB."""
    caller, peak = session.polite_caller, 0
    request = {"do": "measure", "count": count, "url": url, "limit": limit} | more
    caller.process.stdin.write(json.dumps(request).encode() + b"\n")
    caller.process.stdin.flush()
    end = time.monotonic() + limit * 2
    while time.monotonic() < end:
        if is_alive(session.router_before):
            peak = max(peak, memory(session.router_before))
            session.most = max(getattr(session, "most", 0), len(os.listdir(f"/proc/{session.router_before}/fd")))
        if select.select([caller.process.stdout], [], [], 0.05)[0]:
            return json.loads(caller.process.stdout.readline()).get("ok", []), peak
    # The answer is not awaited any longer, so this caller is of no use.
    caller.process.kill()
    session.polite_caller = session.polite()
    return [f"no end of {count} calls in {limit * 2} s"], peak


def end(session, *floods):
    """Ends the floods, and lets the handler answer that has not."""
    open(f"{session.root}/release", "w").close()
    for process in floods:
        process.kill()
        process.wait()


def judge(session, times, peak, *floods, url=f"{SCHEME}:?after", ends=True, rest=REST):
    """Ends the flood. Returns whether another caller was not served, or the router does not get back what it had."""
    end(session, *floods)
    bad, facts = [], []
    errors = [text for text in times if isinstance(text, str)]
    slowest = max([value for value in times if not isinstance(value, str)], default=0)
    if errors or not times:
        bad.append(f"another caller: {errors[0] if errors else 'no answer'}")
    facts.append(f"another caller {sorted(map(str, times))[0] if errors else f'{slowest * 1000:.0f} ms at most'}")
    if not is_alive(session.router_before):
        return True, "the router has ended; " + "; ".join(bad)
    start = time.monotonic()
    back = wait_until(lambda: is_back(session, rest), BACK)
    now = session.cost()
    seconds = time.monotonic() - start
    names = {"memory": f"{now['memory'] - session.before['memory'] >> 10:+} MiB",
             "descriptors": f"{now['descriptors'] - session.before['descriptors']:+} fds",
             "rules": f"{now['rules'] - session.before['rules']:+} rules"}
    if not back:
        bad.append(f"{BACK} s after the end: {', '.join(names.values())}")
    facts.append(f"after {seconds:.1f} s {', '.join(names.values())}")
    grown = peak - (session.before["memory"] >> 10)
    if grown > PEAK:
        bad.append(f"the router grew by {grown} MiB")
    facts.append(f"at most {grown:+} MiB, {session.most} fds")
    after, _ = measure(session, url, 3)
    if any(isinstance(text, str) for text in after) or not after:
        bad.append(f"afterwards: {after}")
    return bool(bad), "; ".join(bad or facts)


def is_back(session, rest):
    now = session.cost()
    return now["memory"] - session.before["memory"] < rest << 10 \
        and now["descriptors"] <= session.before["descriptors"] + 6 and now["rules"] <= session.before["rules"] + 4


def flood(words, kind, *arguments, limit=60, url=f"{SCHEME}:?polite"):
    """Declares an attack with one flood."""

    @attack("exhaustion", words, limit=limit, alone=True)
    def run(session):
        begin(session)
        process = flooder(session, kind, *arguments)
        times, peak = measure(session, url)
        return judge(session, times, peak, process)


flood("has 20,000 calls in flight on one connection", "opens", "calls=20000", "once")
flood("has 500 calls of 900 kB in flight", "opens", "bytes=900000", "calls=500", "once")
flood("holds 5,000 descriptors in calls that never end", "opens", "connections=25", "descriptors=16", "calls=14", "once")
flood("sends descriptors to methods that take none", "descriptors", "connections=25", "descriptors=16", "calls=14", "once")
flood("sends calls with descriptors without end, and leaves each time", "opens", "connections=25", "descriptors=16", "calls=10", "leave")
flood("calls from 400 connections, each of which has a rule", "opens", "connections=400", "calls=2", "once")
flood("reads no answers to 30,000 lists", "lists", "calls=30000", "unread", "once")
flood("explains URLs without end", "asks", "calls=500", "unread")
flood("opens 60,000 URLs in one call, again and again", "many", "calls=20", "once")
flood("reads the registry from the disk again and again", "reloads", "calls=2000", "once")
flood("sends a handler to the background and back without end", "lifecycle", "calls=200")
flood("reads the queue without end", "pages", "calls=5000", "once")


@attack("exhaustion", "has 100,000 calls in flight on 100 connections", limit=480, alone=True)
def connections(session):
    """dbus-daemon looks through all unanswered calls for each new one, and reads a few kilobytes from each connection in turn. So
    this flood delays the calls to every service. The answers to the flood wait in the bus too, but the router may not send so many
    that another caller waits much longer than it would for a plain service."""
    # To be suspended, a handler needs the bus to answer in time. This one is never suspended.
    begin(session, UIBackgroundModes=["audio"])
    session.squatter(PLAIN)
    process = flooder(session, "opens", "connections=100", "calls=1000", "once")
    times, plain, peak, until = [], [], 0, time.monotonic() + 4 * LIMIT
    while time.monotonic() < until:
        plain.append(plain_time(session))
        more, used = measure(session, count=1, limit=12 * LIMIT)
        times, peak = times + more, max(peak, used)
    end(session, process)
    # The router learns only from the bus that the flood has left, so wait until the bus has time.
    wait_until(lambda: plain_time(session) < 0.1, 12 * LIMIT)
    harm, facts = judge(session, times, peak, process)
    slow = not harm and max(times) > 2 * max(plain) + LIMIT
    return harm or slow, f"a plain service {max(plain) * 1000:.0f} ms at most; {facts}"


def plain_time(session):
    """Returns the time of a call to a service that answers at once."""
    times, _ = measure(session, count=1, limit=12 * LIMIT, plain=PLAIN)
    if not times or isinstance(times[0], str):
        raise RuntimeError(f"the plain service does not answer: {times}")
    return times[0]


@attack("exhaustion", "fills the waiting line of a handler", limit=60, alone=True)
def line(session):
    begin(session)
    slow = session.python("com.example.slow", "slow", "delay=0.02", OUOpenTimeout=600)
    slow.start()
    session.before = session.cost()
    process = flooder(session, "opens", "url=slow:x", "connections=5", "calls=4000", "once")
    times, peak = measure(session, "slow:polite", 3)
    return judge(session, times, peak, process)


@attack("exhaustion", "fills the waiting line of a handler, and leaves", limit=60, alone=True)
def line_left(session):
    begin(session)
    session.python("com.example.slow", "slow", "delay=0.02", OUOpenTimeout=600).start()
    session.before = session.cost()
    process = flooder(session, "opens", "url=slow:x", "connections=3", "calls=4096", "leave", "once")
    end(session, process)
    again = flooder(session, "opens", "url=slow:x", "connections=3", "calls=4096", "leave", "once")
    times, peak = measure(session, "slow:polite", 3)
    # The URLs that are left wait for the handler, so they keep their memory.
    return judge(session, times, peak, again, url="slow:after", rest=2 * REST)


@attack("exhaustion", "holds the only descriptors left while a handler has to start", limit=60, alone=True)
def descriptors_launch(session):
    begin(session)
    session.swift("com.example.second", "second")
    process = flooder(session, "opens", "connections=25", "descriptors=16", "calls=14", "once")
    times, peak = measure(session, "second:x", 1)
    return judge(session, times, peak, process)


@attack("exhaustion", "starts 300 processes of an application", limit=60, alone=True)
def processes(session):
    begin(session)
    with open(f"{session.root}/data/applications/sleeper.desktop", "w") as file:
        file.write("[Desktop Entry]\nType=Application\nName=x\nExec=sh -c 'exec sleep 40' x %u\nMimeType=x-scheme-handler/sleeper;\n")
    wait_until(lambda: session.bus.call(ROUTER, "CanOpenURL", "s", ["sleeper:"])[0], 5)
    process = flooder(session, "opens", "url=sleeper:x", "calls=300", "once")
    times, peak = measure(session)
    most, until = 0, time.monotonic() + 6
    while time.monotonic() < until and most <= 128:
        most = max(most, len(descendants(session.router_before)))
        select.select([], [], [], 0.1)
    session.before["descriptors"] += most * 2
    harm, facts = judge(session, times, peak, process)
    return harm or most > 128, f"{most} processes at once; {facts}"


@attack("exhaustion", "fills the queue by 64 kB each from three programs", limit=100, alone=True)
def queue_bytes(session):
    begin(session)
    floods = [flooder(session, "queues", "url=stalled:x", "bytes=64000", "calls=2200", "once", first_round=0) for _ in range(3)]
    for process in floods:
        select.select([process.stdout], [], [], 40)
    answer = session.polite_caller.open(f"{SCHEME}:?queued", {"delivery": ["s", "queued"]})
    times, peak = measure(session)
    harm, facts = judge(session, times, peak, *floods, rest=600)
    size = os.path.getsize(f"{session.root}/state/openurl/queue.sqlite") >> 20
    return harm or "ok" not in answer, f"another caller's queued URL: {said(answer)}, the file has {size} MiB; {facts}"


@attack("exhaustion", "asks for memory without end, as a program of the user", limit=60, alone=True)
def relieve(session):
    begin(session)
    handlers = [session.swift(f"com.example.h{number}", f"h{number}").start() for number in range(5)]
    for handler in handlers:
        session.run("openurl", "suspend", handler.id)
    session.before = session.cost()
    process = flooder(session, "relieves", "calls=200")
    times, peak = measure(session)
    wait_until(lambda: not any(is_alive(handler.pid) for handler in handlers), 2)
    ended = sum(not is_alive(handler.pid) for handler in handlers)
    harm, facts = judge(session, times, peak, process)
    return harm or ended > 3, f"{ended} of 5 suspended handlers were ended in 2 s; {facts}"


@attack("exhaustion", "makes the list of handlers too large to send", limit=60, alone=True)
def amplification(session):
    begin(session)
    for number in range(40):
        session.register_path(session.manifest(f"com.example.m{number}", [f"s{number}x{count}" for count in range(1500)], "/bin/true"))
    session.before = session.cost()
    start = time.monotonic()
    listed = session.run("openurl", "list", limit=20)
    seconds = time.monotonic() - start
    process = flooder(session, "lists", "calls=500", "unread", "once")
    times, peak = measure(session)
    harm, facts = judge(session, times, peak, process)
    return harm or listed.status != 0, f"openurl list: {short(listed, 60)} in {seconds:.1f} s; {facts}"


def unread_bytes(session):
    """Returns the bytes in MiB that the bus keeps for its connections."""
    total = 0
    for name in session.bus.call_bus("ListNames")[0]:
        if name.startswith(":"):
            try:
                total += session.bus.call("org.freedesktop.DBus.Debug.Stats", "GetConnectionStats", "s", [name], BUS,
                                          "/org/freedesktop/DBus")[0].get("OutgoingBytes", 0)
            except BusError:
                pass
    return total >> 20


@attack("exhaustion", "leaves more answers unread than the bus takes from the router", limit=90, alone=True)
def answers(session):
    begin(session)
    for number in range(40):
        session.register_path(session.manifest(f"com.example.m{number}", [f"s{number}x{count}" for count in range(1500)], "/bin/true"))
    session.before = session.cost()
    process = flooder(session, "lists", "calls=6000", "unread", "once")
    until, times, peak, most = time.monotonic() + 20, [], 0, 0
    while time.monotonic() < until and not any(isinstance(value, str) for value in times):
        more, memory = measure(session, count=200)
        times, peak, most = times + more, max(peak, memory), max(most, unread_bytes(session))
    harm, facts = judge(session, times, peak, process)
    return harm or most > 100, f"{most} MiB in the bus; {facts}"


@attack("exhaustion", "fills the log with bad URLs", limit=60, alone=True)
def log(session):
    begin(session)
    size = os.path.getsize(session.log.name)
    process = flooder(session, "bad", "bytes=20000", "calls=5000", "once")
    times, peak = measure(session)
    written = os.path.getsize(session.log.name) - size >> 10
    harm, facts = judge(session, times, peak, process)
    return harm or written > 4096, f"{written} KiB in the log; {facts}"


@attack("exhaustion", "writes as much as it can as a handler", limit=60, alone=True)
def output(session):
    begin(session)
    size = os.path.getsize(session.log.name)
    session.python("com.example.loud", "loud", "shout=4").start()
    times, peak = measure(session, count=300)
    wait_until(lambda: not any("shout" in open(f"/proc/{pid}/cmdline").read() and pid != session.owner("com.example.loud")
                               for pid in descendants() if is_alive(pid)), 6)
    written = os.path.getsize(session.log.name) - size >> 20
    kept = os.path.getsize(f"{session.root}/state/openurl/output/com.example.loud.log") >> 20
    harm, facts = judge(session, times, peak)
    return harm or written > 8, f"{written} MiB in the log in 4 s, {kept} MiB in the file; {facts}"


@attack("exhaustion", "reads nothing of the router's standard error", limit=60, alone=True)
def unread(session):
    session.begin()
    read, write = os.pipe()
    session.start_router(descriptors=1024, stderr=write)
    os.close(write)
    session.swift().start()
    session.polite_caller = session.polite()
    session.polite_caller.open(f"{SCHEME}:?before")
    session.router_before, session.before = session.router, session.cost()
    # The lines of handlers go to the log of the router.
    session.python("com.example.loud", "loud", "shout=3").start()
    process = flooder(session, "bad", "bytes=20000", "calls=500", "once", first_round=5)
    times, peak = measure(session, count=300)
    again, _ = measure(session, count=3)
    times += again
    if not is_alive(session.router_before) or any(isinstance(value, str) for value in times):
        end(session, process)
        os.close(read)
        return True, f"another caller: {times[:1]}, the router lives: {is_alive(session.router_before)}"
    result = judge(session, times, peak, process)
    os.close(read)
    return result


@attack("exhaustion", "notifies a suspended handler of thousands of things with 900 kB each", limit=60, alone=True)
def notifications(session):
    handler = begin(session)
    session.swift("com.example.second", "second").start().suspend()
    process = flooder(session, "notifies", "id=com.example.second", "bytes=900000", "calls=400", "once")
    times, peak = measure(session)
    woken = session.run("openurl", "second:x", limit=10)
    harm, facts = judge(session, times, peak, process)
    return harm or woken.status != 0, f"the handler wakes: {short(woken, 80)}; {facts}"


@attack("exhaustion", "begins background tasks with names of 100 kB as a handler", limit=60, alone=True)
def tasks(session):
    begin(session)
    session.python("com.example.tasks", "tasks", "tasks=1000").start()
    wait_until(lambda: "tasks begun" in lines(f"{session.root}/com.example.tasks.log"), 15)
    times, peak = measure(session)
    listed = session.run("openurl", "status", limit=10)
    harm, facts = judge(session, times, peak)
    return harm or listed.status != 0, f"openurl status: {short(listed, 60)}; {facts}"


@attack("exhaustion", "stays in the background without end as a handler", limit=60, alone=True)
def background(session):
    session.begin()
    handler = session.swift(VICTIM, SCHEME, "task=endless", "chain", OUBackgroundTime=3, OUSuspendDelay=1).start()
    session.run("openurl", "background", VICTIM)
    ended = wait_until(lambda: not is_alive(handler.pid) or state(handler.pid) == "T", 12)
    return not ended, f"stopped or ended: {bool(ended)}"


@attack("exhaustion", "hangs as a handler, and keeps the other handlers waiting", limit=60, alone=True)
def hangs(session):
    begin(session)
    for number in range(10):
        session.python(f"com.example.hang{number}", f"hang{number}", "hang", OUOpenTimeout=60)
        session.bus.begin(ROUTER, "OpenURL", "sa{sv}", [f"hang{number}:x", {}])
    wait_until(lambda: all(lines(f"{session.root}/com.example.hang{number}.log")[2:] for number in range(10)), 10)
    session.before = session.cost()
    times, peak = measure(session)
    return judge(session, times, peak)


@attack("exhaustion", "floods from a sandbox", limit=60, alone=True)
def sandbox(session):
    from sandboxes import bwrap, info_file, proxy
    begin(session)
    socket, info = proxy(session, "org.openurl.Router1"), info_file()
    command = bwrap(session, info, "--unshare-user", "--unshare-pid", "--bind", socket, "/bus")
    process = session.start(*command, PYTHON, "-B", f"{HERE}/flooder.py", "opens", "calls=2000", stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, pass_fds=[info], environment={"DBUS_SESSION_BUS_ADDRESS": "unix:path=/bus"})
    select.select([process.stdout], [], [], 10)
    times, peak = measure(session)
    return judge(session, times, peak, process)


@attack("exhaustion", "makes the search for secrets take long while somebody watches", limit=60, alone=True)
def secrets(session):
    begin(session)
    watcher, sandbox = session.client("env"), flatpak(session)
    watching = watcher.call("org.openurl.Monitor1", "Subscribe", "a{sv}", {})
    url = f"{SCHEME}:?" + "&".join("a" * 1074 + f"b{number:03}" for number in range(60))
    answer = sandbox.open(url, {"handler": ["s", "a" * 900_000]})
    refused = [sandbox.open(url + str(number), {"handler": ["s", "a" * 250]}) for number in range(20)]
    times, peak = measure(session)
    harm, facts = judge(session, times, peak)
    return harm, f"Subscribe: {said(watching)}, the sandbox: {said(answer)}, then {said(refused[0])}; {facts}"
