"""The checks of the package for Debian: what an administrator does with it while two users are logged in."""

import os
import pathlib
import plistlib
import subprocess
import threading

from machine import NO_DATA, ROUTER, Checks, Session, expect, run, service, status, wait_for

PACKAGES = pathlib.Path("/opt/packages")
# The handler of another package.
CLICKED = "com.example.clicked"


def run_all(name):
    check = Checks(name)
    users = [Session.of_new_user(user) for user in ["pat", "quinn"]]
    before = files()
    installation(check, users)
    two_users(check, users)
    upgrade(check, *users)
    downgrade(check, *users)
    purge(check, users, before)
    installation_after_purge(check, users[0], before)


def apt(verb, *packages):
    command = ["apt-get", "-q", "-y", "--no-install-recommends", "--allow-downgrades", verb, *map(str, packages)]
    answer = run(*command, timeout=380, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
    expect(answer.returncode == 0, f"apt-get {verb}: {answer.stdout}{answer.stderr}")
    return answer.stdout + answer.stderr


def files():
    """The files of all packages, and of maintainer scripts."""
    # The other installations wait in /opt.
    changing = ["/opt", "/home", "/root", "/tmp", "/var/cache", "/var/log", "/var/lib/apt", "/var/lib/dpkg", "/var/lib/checks",
                "/var/lib/systemd/timers"]
    leaving_out = [word for path in changing for word in ["-path", path, "-prune", "-o"]]
    return set(run("find", "/", "-xdev", *leaving_out, "-print").stdout.splitlines())


def package_with_handler():
    """Makes a package of another project. Its handler is one for all users."""
    root = pathlib.Path("/tmp/clicked")
    (root / "DEBIAN").mkdir(parents=True, exist_ok=True)
    (root / "DEBIAN/control").write_text(
        "Package: clicked\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: a handler\n")
    program = root / "usr/lib/clicked"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec /usr/lib/openurl-checks/testhandler {CLICKED} "$HOME/{CLICKED}.log"\n')
    program.chmod(0o755)
    manifest = root / f"usr/share/openurl/handlers/{CLICKED}.plist"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_bytes(plistlib.dumps({
        "CFBundleIdentifier": CLICKED,
        "CFBundleExecutable": "/usr/lib/clicked",
        "CFBundleURLTypes": [{"CFBundleURLName": CLICKED, "CFBundleURLSchemes": ["clicked"]}],
        "OULaunchTimeout": 40,
    }))
    answer = run("dpkg-deb", "--root-owner-group", "--build", str(root), "/tmp/clicked.deb")
    expect(answer.returncode == 0, answer.stderr)
    return "/tmp/clicked.deb"


def opened(session, id, url):
    """How often a handler got a URL."""
    return session.events(id).count(f"open {url}")


def installation(check, users):
    @check("apt install into a clean system, under two sessions", seconds=300)
    def _():
        found = [path for path in files() if "openurl" in path and not path.startswith("/usr/lib/openurl-checks")]
        expect(not found, f"the system is not clean: {found}")
        apt("install", PACKAGES / "openurl.deb", package_with_handler())
        expect(not (running := routers()), f"routers run already: {running}")
        return run("dpkg-query", "-W", "openurl", "clicked").stdout.strip().replace("\t", " ")

    def first(session, way, *command, **variables):
        url = f"clicked:{way}"
        expect(session.owner(ROUTER) == 0, "the router runs already")
        answer = session.run(*command, url, **variables)
        wait_for(lambda: opened(session, CLICKED, url), f"{url}: status {answer.returncode}, {answer.stdout}{answer.stderr}")
        return f"router {session.router()}, handler in {service(session.owner(CLICKED))}"

    @check("first click after the installation, without a new login: xdg-open")
    def _():
        return first(users[0], "xdg-open", "xdg-open", DISPLAY=":0")

    @check("first click after the installation, without a new login: gio open")
    def _():
        return first(users[1], "gio", "gio", "open")

    @check("first click after the installation, without a new login: the handler's name on the bus")
    def _():
        session = users[0]
        session.run("openurl", "terminate", CLICKED)
        session.stop_router()
        expect(session.owner(CLICKED) == 0, "the handler runs already")
        # systemd has given the earlier router back; the bus asks for the unit again.
        answer = session.run(
            "gdbus", "call", "--session", "--timeout=60", f"--dest={CLICKED}", "--object-path=/com/example/clicked",
            "--method=org.freedesktop.Application.Open", "['clicked:bus']", NO_DATA)
        wait_for(lambda: opened(session, CLICKED, "clicked:bus"), f"{answer.stdout}{answer.stderr}")
        return f"router {session.router()}, handler in {service(session.owner(CLICKED))}"


def routers():
    """The processes of all users' routers."""
    return [int(pid) for pid in run("pgrep", "-x", "openurld").stdout.split()]


def two_users(check, users):
    @check("two users at the same time: each has a router and a handler, and gets only the own URLs")
    def _():
        callers = [session.start("openurl", f"clicked:of-{session.user}") for session in users for _ in range(5)]
        statuses = [(caller.communicate(timeout=60)[0], caller.returncode) for caller in callers]
        expect(all(code == 0 for _, code in statuses), statuses)
        for session in users:
            urls = [line for line in session.events(CLICKED) if line.startswith("open clicked:of-")]
            expect(urls == [f"open clicked:of-{session.user}"] * 5, f"{session.user}: {urls}")
            for pid in [session.router(), session.owner(CLICKED)]:
                uids = set(status(pid, "Uid").split())
                expect(uids == {str(session.entry.pw_uid)}, f"process {pid} of {session.user} has {uids}")
        expect(len(routers()) == 2, routers())
        return [f"{session.user}: router {session.router()}, handler {session.owner(CLICKED)}" for session in users]


def install_under_load(package, session, other, scheme):
    """Installs another version while 1,000 URLs of a session wait for a handler, and returns the routers of before and after.

    The handler starts only when the router that has the URLs is about to exit. Each URL arrives once, and its sender has the answer.
    """
    id = session.register(scheme, "gate", OULaunchTimeout=300, OUOpenTimeout=300)
    gate = session.home / f"{id}.log.gate"
    session.run("mkfifo", str(gate))
    before = {each.user: each.router() for each in [session, other]}
    sender = session.start("python3", "/opt/checks/open_at_once.py", f"{scheme}:", "1000")
    expect((line := sender.stdout.readline()) == "sent\n", f"before the URLs were sent: {line}")
    seen = {}
    journal = subprocess.Popen(["journalctl", "--follow", "--lines=0", "--output=cat", f"_UID={session.entry.pw_uid}"], text=True,
                               stdout=subprocess.PIPE)

    def open_gate():
        if any("exiting after the last answer" in line for line in journal.stdout):
            seen["early"] = session.events(id)
        gate.open("w").close()

    opener = threading.Thread(target=open_gate, daemon=True)
    opener.start()
    try:
        apt("install", package)
    finally:
        journal.terminate()
    opener.join(timeout=60)
    expect(seen.get("early") and not any(line.startswith("open ") for line in seen["early"]), f"when the router stopped: {seen}")
    for each in [session, other]:
        pid = each.router()
        expect(pid != before[each.user], f"{each.user} has the router of before, {pid}")
        program = os.readlink(f"/proc/{pid}/exe")
        expect(program == "/usr/bin/openurld", f"{each.user}: {program}")
    expect(sorted(routers()) == sorted(each.router() for each in [session, other]), routers())
    answers = sender.communicate(timeout=60)[0].splitlines()
    urls = [f"{scheme}:{number}" for number in range(1, 1001)]
    wrong = [answer for answer in answers if not answer.endswith(" ok")]
    expect(sorted(answers) == sorted(f"{url} ok" for url in urls), f"{len(answers)} answers, among them {wrong[:3]}")
    arrived = [line.removeprefix("open ") for line in session.events(id) if line.startswith("open ")]
    expect(arrived == urls, f"{len(arrived)} arrived, {len(set(arrived))} different ones")
    session.run("openurl", "terminate", id)
    version = run("dpkg-query", "-W", "-f", "${Version}", "openurl").stdout
    return f"{version}, 1,000 URLs waited, arrived once and in order, and were answered; routers {before}, then {routers()}"


def upgrade(check, session, other):
    # Each URL is opened after the answer to the one before, until the file `stop` is there.
    stream = 'while ! [ -e stop ]; do n=$((n + 1)); openurl "clicked:stream$n" || echo "stream$n: status $?"; done; echo "$n"'
    seen = {}

    @check("upgrade under 1,000 URLs: each is accounted for, and the new router runs when apt ends", seconds=400)
    def _():
        queued = session.register("waiting", "startDelay=4000")
        seen["handlers"] = {each.user: each.owner(CLICKED) for each in [session, other]}
        seen["stream"] = other.start("sh", "-c", stream)
        wait_for(lambda: opened(other, CLICKED, "clicked:stream3"), "the stream runs")
        for number in range(3):
            session.run("openurl", "--queue", f"waiting:{number}")
        wait_for(lambda: session.events(queued), "the handler starts")
        return install_under_load(PACKAGES / "newer.deb", session, other, "upgraded")

    @check("upgrade: the queued URLs arrive once, in their order")
    def _():
        wait_for(lambda: not session.queue(), "the queue is empty", seconds=60)
        urls = [line for line in session.events("com.example.waiting") if line.startswith("open ")]
        expect(urls == [f"open waiting:{number}" for number in range(3)], urls)
        return urls

    @check("upgrade: a stream of URLs goes on, and each arrives once, in their order")
    def _():
        other.write(other.home / "stop", "")
        *failures, last = seen["stream"].communicate(timeout=60)[0].splitlines()
        expect(not failures, failures)
        urls = [line for line in other.events(CLICKED) if line.startswith("open clicked:stream")]
        expect(urls == [f"open clicked:stream{number}" for number in range(1, int(last) + 1)], f"{last} opened, {urls}")
        return f"{last} URLs"

    @check("upgrade: handlers live on, and the new router knows them")
    def _():
        for each in [session, other]:
            result = each.open("clicked:after-upgrade")
            pid = seen["handlers"][each.user]
            expect(each.owner(CLICKED) == pid and result["way"] != "launched", f"{each.user}: {pid}, then {result}")
        return seen["handlers"]


def downgrade(check, session, other):
    @check("downgrade under 1,000 URLs: each is accounted for, and the earlier version's router runs when apt ends", seconds=400)
    def _():
        handlers = {each.user: each.owner(CLICKED) for each in [session, other]}
        answer = install_under_load(PACKAGES / "openurl.deb", session, other, "downgraded")
        for each in [session, other]:
            result = each.open("clicked:after-downgrade")
            pid = each.owner(CLICKED)
            expect(pid == handlers[each.user] and result["way"] != "launched", f"{each.user}: {handlers}, then {pid}, {result}")
        return answer


def purge(check, users, before):
    session = users[0]
    program = session.home / "other"
    other = f"""[Desktop Entry]
Type=Application
Name=Other
Exec={program} %u
MimeType=x-scheme-handler/clicked;x-scheme-handler/owned;
"""

    handlers = []

    def clicks(moment):
        """Clicks on a link for a handler of a package, and on one for a handler of the user, in two ways."""
        for scheme in ["clicked", "owned"]:
            for way, command in [("xdg-open", ["xdg-open"]), ("gio", ["gio", "open"])]:
                url = f"{scheme}:{moment}-{way}"
                answer = session.run(*command, url, DISPLAY=":0")
                yield scheme, url, f"{url}: status {answer.returncode}, {answer.stdout}{answer.stderr}"

    @check("apt purge under two sessions, with handlers that are the default", seconds=400)
    def _():
        for each in users:
            each.open("clicked:before-purge")
            handlers.append(each.owner(CLICKED))
        session.register("owned")
        session.write(program, '#!/bin/sh\necho "$1" >>~/other.log\n')
        program.chmod(0o755)
        session.write(session.home / ".local/share/applications/other.desktop", other)
        session.run("update-desktop-database", str(session.home / ".local/share/applications"))
        for scheme in ["clicked", "owned"]:
            answer = session.run("openurl", "default", scheme, f"com.example.{scheme}")
            expect(answer.returncode == 0, answer.stdout + answer.stderr)
        for scheme, url, seen in list(clicks("before")):
            wait_for(lambda: opened(session, f"com.example.{scheme}", url), seen)
        apt("purge", "openurl", "clicked")
        return (session.home / ".config/mimeapps.list").read_text().strip()

    @check("purge: no file is left")
    def _():
        left = sorted(files() - before)
        known = run("find", "/var/lib", "-name", "*openurl*").stdout.split()
        expect(not left + known, left + known)
        return "nothing is left"

    @check("purge: no router, and no failed unit")
    def _():
        expect(not routers(), routers())
        for each in users:
            failed = each.run("systemctl", "--user", "--failed", "--no-legend", "--plain").stdout.strip()
            expect(not failed, f"{each.user}: {failed}")
            state = each.property("openurld.service", "ActiveState")
            expect(state == "inactive", f"{each.user}: openurld.service is {state}")
            wrong = [entry["MESSAGE"] for entry in each.journal() if "openurld.service: Failed with" in entry["MESSAGE"]]
            expect(not wrong, wrong)
        failed = run("systemctl", "--failed", "--no-legend", "--plain").stdout.strip()
        expect(not failed, failed)
        return "neither for the users nor for the system"

    @check("purge: handlers run on")
    def _():
        now = [each.owner(CLICKED) for each in users]
        expect(len(now) == len(handlers) and now == handlers, f"{handlers}, then {now}")
        return handlers

    @check("purge: a link goes to the next application")
    def _():
        log = session.home / "other.log"
        for _, url, seen in list(clicks("after")):
            wait_for(lambda: log.exists() and url in log.read_text().splitlines(), seen, seconds=10)
        return log.read_text().splitlines()


def installation_after_purge(check, session, before):
    @check("installation after a purge: the user's handlers and choices count again", seconds=300)
    def _():
        apt("install", PACKAGES / "openurl.deb", "/tmp/clicked.deb")
        for scheme in ["clicked", "owned"]:
            session.run("gio", "open", f"{scheme}:again")
            wait_for(lambda: opened(session, f"com.example.{scheme}", f"{scheme}:again"), f"{scheme}:again arrives")
        apt("purge", "openurl", "clicked")
        expect(not (left := sorted(files() - before)), left)
        return "both links arrive at their handlers"
