"""Files of others, links, damaged files, and files that never answer."""

import ctypes, os, plistlib, sqlite3, time
from attack import *

NOBODY = 65534


def as_root():
    if os.getuid() != 0:
        raise Skip("only root can give files away")


def manifest_of(words, spoil, link=False):
    """Declares an attack with a manifest that others may have written: it must not run its program.

    - link: whether the file is in the directory of manifests already; else `openurl register` gets its path.
    """

    @attack("files", words)
    def run(session):
        directory = f"{session.root}/{'data/openurl/handlers' if link else 'elsewhere'}"
        mark, program = f"{session.root}/mark", f"{session.root}/program/evil"
        os.mkdir(f"{session.root}/program")
        with open(program, "w") as file:
            file.write(f"#!/bin/sh\ntouch {mark}\n")
        os.chmod(program, 0o755)
        path = session.manifest("com.example.evil", "evil", program, directory=directory)
        spoil(path, program)
        session.begin()
        said = "found" if link else short(session.register_path(path), 90)
        run = session.run("openurl", "--timeout", "3s", "evil:x", limit=8)
        ran = os.path.exists(mark)
        return ran, f"{said}; open: status {run.status}, the program ran: {ran}"


def give(path):
    as_root()
    os.lchown(path, NOBODY, NOBODY)


for link in [False, True]:
    where = "in the directory of manifests" if link else "that is registered"
    manifest_of(f"leaves a manifest of another user {where}", lambda path, program: give(path), link)
    manifest_of(f"may write to a manifest {where}", lambda path, program: os.chmod(path, 0o666), link)
    manifest_of(f"of the group may write to a manifest {where}",
                lambda path, program: (give_group(path), os.chmod(path, 0o664)), link)
    manifest_of(f"may write to the directory of a manifest {where}",
                lambda path, program: os.chmod(os.path.dirname(path), 0o777), link)


def give_group(path):
    as_root()
    os.chown(path, 0, NOBODY)


manifest_of("owns the program of a manifest", lambda path, program: give(program))
manifest_of("may write to the program of a manifest", lambda path, program: os.chmod(program, 0o777))
manifest_of("may write to the directory of the program of a manifest",
            lambda path, program: os.chmod(os.path.dirname(program), 0o777))
manifest_of("owns the directory of the program of a manifest", lambda path, program: give(os.path.dirname(program)))


def through_link(path, program):
    """Puts the program into a directory that all may write to, behind a link."""
    open_directory = os.path.dirname(os.path.dirname(program)) + "/open"
    os.mkdir(open_directory)
    os.chmod(open_directory, 0o777)
    os.rename(program, f"{open_directory}/evil")
    os.symlink(f"{open_directory}/evil", program)


manifest_of("may write to the directory of the program behind a link", through_link)


@attack("files", "changes a program to one of another user after the registration")
def later(session):
    as_root()
    session.begin()
    mark, program = f"{session.root}/mark", f"{session.root}/evil"
    with open(program, "w") as file:
        file.write(f"#!/bin/sh\ntouch {mark}\n")
    os.chmod(program, 0o755)
    session.register_path(session.manifest("com.example.evil", "evil", program))
    os.chown(program, NOBODY, NOBODY)
    run = session.run("openurl", "--timeout", "3s", "evil:x", limit=8)
    return os.path.exists(mark), f"open: {short(run, 80)}"


# Links where the router writes


def link_of(words, place, act=lambda session: None, content="precious\n"):
    @attack("files", words)
    def run(session):
        precious = f"{session.root}/precious"
        with open(precious, "w") as file:
            file.write(content)
        link = place(session)
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(precious, link)
        session.begin()
        handler = session.swift()
        session.run("openurl", "--queue", f"{SCHEME}:x")
        wait_until(lambda: handler.urls(), 5)
        act(session)
        session.run("openurl", "unregister", VICTIM)
        with open(precious, errors="replace") as file:
            now = file.read() if os.path.exists(precious) else None
        return now != content, f"{os.path.relpath(link, session.root)}: {'unchanged' if now == content else 'overwritten'}"


link_of("puts a link in the place of a desktop entry", lambda session: f"{session.root}/data/applications/{VICTIM}.desktop")
link_of("puts a link in the place of a service file", lambda session: f"{session.root}/data/dbus-1/services/{VICTIM}.service")
link_of("puts a link in the place of a record of a process", lambda session: f"{session.root}/run/openurl/processes/{VICTIM}")
link_of("puts a link in the place of the output of a handler",
        lambda session: f"{session.root}/state/openurl/output/{VICTIM}.log",
        lambda session: session.run("openurl", f"{SCHEME}:y"))
link_of("puts a link in the place of the cache", lambda session: f"{session.root}/cache/openurl/registry.sqlite", content="")
link_of("puts a link in the place of the queue", lambda session: f"{session.root}/state/openurl/queue.sqlite", content="")
link_of("puts a link in the place of the lock of the queue",
        lambda session: f"{session.root}/state/openurl/queue.sqlite.lock", content="")
link_of("puts a link in the place of the rules", lambda session: f"{session.root}/config/openurl/policy.conf",
        lambda session: session.run("openurl", "policy", "allow", "x"))
link_of("puts a link in the place of the registration",
        lambda session: f"{session.root}/data/openurl/handlers/{VICTIM}.plist")


@attack("files", "puts a link in the place of a directory of the router")
def directory_link(session):
    precious = f"{session.root}/precious"
    os.mkdir(precious)
    os.chmod(precious, 0o777)
    os.mkdir(f"{session.root}/state/openurl")
    os.symlink(precious, f"{session.root}/state/openurl/output")
    os.symlink(precious, f"{session.root}/run/openurl")
    session.begin()
    session.swift().start()
    found = [f"{root}/{name}"[len(precious):] for root, _, names in os.walk(precious) for name in names]
    return bool(found), f"written through the links: {' '.join(found) or 'nothing'}"


@attack("files", "overwrites the desktop entry of another program with a handler of its name")
def foreign_entry(session):
    path = f"{session.root}/data/applications/{VICTIM}.desktop"
    with open(path, "w") as file:
        file.write("[Desktop Entry]\nType=Application\nName=precious\nExec=true\n")
    session.begin()
    session.swift()
    return "precious" not in open(path).read(), "the entry is " + open(path).read().splitlines()[2]


# Characters


@attack("files", "writes lines into the desktop entry and the service file by strings of the manifest")
def injection(session):
    session.begin()
    evil = "x\nExec=/bin/evil\nX-Evil=1\n[Desktop Action evil]\nExec=/bin/evil"
    answers = []
    for number, keys in enumerate([
            {"CFBundleName": evil, "CFBundleDisplayName": evil}, {"CFBundleIconFile": evil}, {"CFBundleExecutable": f"/bin/{evil}"},
            {"OUArguments": [evil]}, {"OUEnvironment": {"X": evil, "Y\nExec": "1"}}, {"CFBundleIdentifier": f"com.example.{evil}"},
            {"CFBundleURLTypes": [{"CFBundleURLSchemes": ["a\nExec=/bin/evil"], "CFBundleURLName": evil}]},
            {"CFBundleDocumentTypes": [{"CFBundleTypeMIMETypes": ["x/y;\nExec=/bin/evil"], "CFBundleTypeName": evil}]}]):
        path = session.manifest(f"com.example.evil{number}", f"evil{number}", "/bin/true")
        content = plistlib.load(open(path, "rb")) | keys
        with open(path, "wb") as file:
            plistlib.dump(content, file, fmt=plistlib.FMT_BINARY)
        answers.append(session.register_path(path).status)
    return written(session, answers)


def written(session, answers):
    found = []
    for folder in ["data/applications", "data/dbus-1/services"]:
        for root, _, names in os.walk(f"{session.root}/{folder}"):
            for name in names:
                with open(f"{root}/{name}", errors="replace") as file:
                    if any(line.startswith(("Exec=/bin/evil", "X-Evil", "[Desktop Action")) or "\0" in line for line in file):
                        found.append(name)
    return bool(found), f"register: {answers}, lines in: {' '.join(found) or 'none'}"


@attack("files", "has NUL characters in the strings of its manifest")
def nul(session):
    session.begin()
    mark = f"{session.root}/mark"
    answers = []
    for number, keys in enumerate([
            {"CFBundleExecutable": "/bin/touch\0/bin/false"}, {"CFBundleIdentifier": "com.example.nul\0x"},
            {"OUArguments": [f"{mark}\0x"]}, {"OUEnvironment": {"X\0LD_PRELOAD": "x\0LD_PRELOAD=/evil"}},
            {"CFBundleName": "a\0b"}, {"CFBundleIconFile": "/a\0b"},
            {"CFBundleURLTypes": [{"CFBundleURLSchemes": ["nul\0x"]}]}]):
        path = session.manifest(f"com.example.nul{number}", f"nul{number}", "/bin/touch", [mark] if number == 0 else [])
        content = plistlib.load(open(path, "rb")) | keys
        with open(path, "wb") as file:
            plistlib.dump(content, file, fmt=plistlib.FMT_BINARY)
        answers.append(session.register_path(path).status)
        session.run("openurl", "--timeout", "2s", f"nul{number}:x", limit=5)
    harm, facts = written(session, answers)
    return harm or os.path.exists(mark) or not is_alive(session.router), f"{facts}, a cut string ran: {os.path.exists(mark)}"


# Damage


def damaged(words, change):
    @attack("files", words)
    def run(session):
        path = stored(session)
        database = sqlite3.connect(path)
        columns = [row[1] for row in database.execute("PRAGMA table_info(deliveries)")]
        row = dict(zip(columns, database.execute("SELECT * FROM deliveries").fetchone()))
        for number, (column, value) in enumerate(change.items()):
            bad = row | {"id": row["id"] - 10 + number, "url": f"{SCHEME}:bad{number}", column: value}
            database.execute(f"INSERT INTO deliveries ({', '.join(bad)}) VALUES ({', '.join('?' * len(bad))})", list(bad.values()))
        database.commit()
        database.close()
        os.rename(f"{session.root}/away", f"{session.root}/victim")
        handler = Handler(session, VICTIM, SCHEME, f"{session.root}/{VICTIM}.log")
        answer = attempt(lambda: session.bus.call("org.freedesktop.DBus.Peer", "Ping"))
        router = session.owner(ROUTER)
        session.run("openurl", "queue", "retry", "--all", limit=8)
        good = wait_until(lambda: f"{SCHEME}:good" in handler.urls(), 8)
        listed = session.run("openurl", "queue", limit=5)
        alive = router is not None and session.owner(ROUTER) == router
        return not (good and alive and listed.status == 0), \
            f"router: {answer}, lives: {alive}, the good URL arrived: {bool(good)}, openurl queue: {short(listed, 40)}"


def stored(session):
    """Stores a URL whose handler cannot start, and ends the router. Returns the file of the queue."""
    session.begin()
    program = f"{session.root}/victim"
    os.symlink(f"{session.programs}/testhandler", program)
    session.swift(program=program)
    os.rename(program, f"{session.root}/away")
    router = session.router
    session.run("openurl", "--queue", f"{SCHEME}:good")
    wait_until(lambda: session.bus.call(QUEUE, "List", "s", [""])[0][0]["attempts"], 5)
    os.kill(router, 15)
    wait_until(lambda: not is_alive(router))
    return f"{session.root}/state/openurl/queue.sqlite"


damaged("writes extreme times into the queue", {"accepted": 2**63 - 1, "due": 2**63 - 1, "attempts": 2**63 - 1})
damaged("writes negative times into the queue", {"accepted": -2**63, "due": -2**63, "attempts": -2**63})
damaged("writes damaged rows into the queue", {"request": b"\xff" * 50, "url": "not a url\x00\n", "handler": "no id\n", "caller": "x" * 100000,
                                               "error": "\x1b", "message": "m" * 1000000})


# Size, and files that do not answer


def served(session, words="?after", limit=5):
    """Returns whether another caller is served, with the facts."""
    start = time.monotonic()
    answer = attempt(lambda: Bus().open(f"{SCHEME}:{words}", wait=limit))
    return answer == "answered", f"another caller: {answer} in {time.monotonic() - start:.1f} s"


@attack("files", "registers a manifest of 300 MB")
def huge(session):
    session.begin()
    session.swift().start()
    path = f"{session.root}/huge.plist"
    with open(path, "wb") as file:
        file.truncate(300 << 20)
    before = session.cost()["memory"]
    process = session.start("openurl", "register", path)
    good, facts = served(session)
    process.wait(20)
    grown = session.cost()["memory"] - before
    return not good or grown > 100 << 10, f"{facts}, the router grew by {grown >> 10} MiB"


@attack("files", "puts 300 manifests with long strings into the directory")
def many(session):
    session.begin()
    session.swift().start()
    before = session.cost()["memory"]
    text = "x" * 100_000
    for number in range(300):
        session.manifest(f"com.example.m{number}", [f"m{number}"], "/bin/true", directory=f"{session.root}/data/openurl/handlers",
                         CFBundleName=text, OUArguments=[text])
    good, facts = served(session, limit=10)
    wait_until(lambda: session.bus.call(ROUTER, "CanOpenURL", "s", ["m299:"])[0], 15)
    grown = session.cost()["memory"] - before
    listed = session.run("openurl", "list", limit=10)
    return not good or listed.status != 0 or grown > 100 << 10, \
        f"{facts}, the router grew by {grown >> 10} MiB, openurl list: {short(listed, 60)}"


@attack("files", "nests a manifest 100,000 levels deep")
def deep(session):
    session.begin()
    session.swift().start()
    path = f"{session.root}/deep.plist"
    with open(path, "w") as file:
        file.write('<?xml version="1.0"?><plist version="1.0">' + "<array>" * 100_000 + "</array>" * 100_000 + "</plist>")
    run = session.register_path(path)
    good, facts = served(session)
    return not good, f"register: {short(run, 60)}, {facts}"


def fifo(words, place):
    @attack("files", words)
    def run(session):
        session.begin()
        session.swift().start()
        path = place(session)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.mkfifo(path)
        session.start("openurl", "register", path)
        good, facts = served(session)
        # A changed manifest still counts: nothing holds up the registry.
        session.run("openurl", "register", session.manifest("com.example.next", "next", "/bin/true"), limit=8)
        new = session.bus.call(ROUTER, "CanOpenURL", "s", ["next:"])[0]
        return not good or not new, f"{facts}, a new handler counts: {new}"


fifo("registers a FIFO", lambda session: f"{session.root}/fifo/x.plist")
fifo("puts a FIFO into the directory of manifests", lambda session: f"{session.root}/data/openurl/handlers/x.plist")
fifo("puts a FIFO into the directory of desktop entries", lambda session: f"{session.root}/data/applications/x.desktop")


def hung(session):
    """Mounts a file system that never answers. Returns its path, or skips the attack."""
    as_root()
    if not os.path.exists("/dev/fuse"):
        raise Skip("there is no /dev/fuse")
    path = f"{session.root}/hung"
    os.mkdir(path)
    session.fuse = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={session.fuse},rootmode=40755,user_id=0,group_id=0".encode()
    if libc.mount(b"attack", path.encode(), b"fuse", 0, options):
        raise Skip(f"FUSE cannot be mounted: {os.strerror(ctypes.get_errno())}")
    return path


def release(session):
    """Ends the file system: all that wait for it get an error."""
    os.close(session.fuse)
    ctypes.CDLL(None).umount2(f"{session.root}/hung".encode(), 2)


def hanging(words, act):
    @attack("files", words)
    def run(session):
        session.begin()
        session.swift().start()
        path = hung(session)
        try:
            act(session, path)
            good, facts = served(session)
            second, more = served(session)
            session.run("openurl", "register", session.manifest("com.example.next", "next", "/bin/true"), limit=6)
            new = attempt(lambda: session.bus.call(ROUTER, "CanOpenURL", "s", ["next:"], wait=3)) == "answered" \
                and session.bus.call(ROUTER, "CanOpenURL", "s", ["next:"])[0]
            return not (good and second and new), f"{facts}, then {more}, a new handler counts: {new}"
        finally:
            release(session)


hanging("registers a manifest on a file system that hangs",
        lambda session, path: session.start("openurl", "register", f"{path}/x.plist"))


def notice():
    """Gives the router time to meet the file. Nothing tells when it has: it may be waiting for the file."""
    time.sleep(0.5)


def hung_link(session, path):
    os.makedirs(f"{session.root}/data/openurl/handlers", exist_ok=True)
    os.symlink(f"{path}/x.plist", f"{session.root}/data/openurl/handlers/com.example.hung.plist")
    notice()


hanging("links a manifest on a file system that hangs", hung_link)


def hung_program(session, path):
    manifest = session.manifest("com.example.hung", "hung", f"{path}/program")
    session.start("openurl", "register", manifest)
    session.start("openurl", "--timeout", "10s", "hung:x")
    notice()


hanging("has its program on a file system that hangs", hung_program)


def hung_entry(session, path):
    with open(f"{session.root}/data/applications/hung.desktop", "w") as file:
        file.write(f"[Desktop Entry]\nType=Application\nName=x\nTryExec={path}/x\nExec={path}/x %u\nMimeType=x-scheme-handler/hung;\n")
    notice()
    session.start("openurl", "--timeout", "10s", "hung:x")
    notice()


hanging("has the command of a desktop entry on a file system that hangs", hung_entry)
