"""Pages and sign-ins of programs on another machine and in containers, which end in a real Chromium here.

The times of each way are printed, and not checked: the time until openurl starts the browser's command, the time that Chromium takes
until it asks for the page, and the time from there until the program has its callback.
"""

import http.server, os, queue, ssl, statistics, subprocess, threading, time, urllib.parse
from chromium import OPTIONS, PACKAGES, Chromium
from processes import descendants
from session import HERE, check, wait_until

ROUNDS = 7
FAR = f"{HERE}/far.py"
# Each way is a program that opens URLs, and whether it signs in.
WAYS = {"xdg-open": ("xdg-open", False), "$BROWSER": ("$BROWSER", False), "sign-in": ("$BROWSER", True)}
SYSTEM = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
          "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--ro-bind", FAR, FAR]
NEW_NETWORK = ["--net"] if os.getuid() == 0 else ["--user", "--map-root-user", "--net"]


class Site:
    """A site with pages and a sign-in, which leads back to the program at once."""

    def __init__(self, session):
        key, certificate = f"{session.root}/site.key", f"{session.root}/site.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                        "-keyout", key, "-out", certificate], check=True, stderr=session.log)
        self.requests = requests = queue.SimpleQueue()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                arrival = time.time()
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                redirect = query.get("redirect_uri")
                self.send_response(302 if redirect else 200)
                if redirect:
                    self.send_header("Location", f"{redirect[0]}?code=1&state={query['state'][0]}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                if self.path.startswith("/page"):
                    requests.put((arrival, self.path))

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.origin = f"https://127.0.0.1:{server.server_port}"


def write(path, text, mode=0o644):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def add_server(session):
    """Writes the files of an sshd and of a client that knows it as `box`. ssh starts the server for each connection."""
    root = f"{session.root}/ssh"
    os.makedirs(f"{root}/bin")
    os.makedirs(f"{root}/tmp")
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    for name in ["host", "key"]:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{root}/{name}"], check=True)
    with open(f"{root}/host.pub") as key:
        write(f"{root}/known", f"box {key.read()}")
    write(f"{root}/server", f"HostKey {root}/host\nAuthorizedKeysFile {root}/key.pub\nStrictModes no\nUsePAM no\n"
          f"PermitRootLogin yes\nSetEnv TMPDIR={root}/tmp\n")
    write(f"{root}/client", f"Host box\n  ProxyCommand /usr/sbin/sshd -i -f {root}/server\n  IdentityFile {root}/key\n"
          f"  IdentitiesOnly yes\n  UserKnownHostsFile {root}/known\n  LogLevel ERROR\n")
    write(f"{root}/bin/ssh", f"#!/bin/sh\nexec /usr/bin/ssh -F {root}/client \"$@\"\n", 0o755)
    session.environment["PATH"] = f"{root}/bin:{session.environment['PATH']}"


def far_command(session, kind):
    """Returns the command that runs the far program in an environment, which has the name `box`."""
    python = ["/usr/bin/python3", FAR]
    if kind == "ssh":
        add_server(session)
        return ["openurl", "ssh", "box", " ".join(["unshare", *NEW_NETWORK, *python])]
    engine = kind if kind in ["bubblewrap", "toolbox", "distrobox"] else "podman"
    session.run("openurl", "share", "box", "--for", engine)
    runtime = session.environment["XDG_RUNTIME_DIR"]
    share = f"{runtime}/openurl/shares/box"
    browser = ["--setenv", "BROWSER", "/run/openurl/xdg-open", "--setenv", "PATH", "/run/openurl:/usr/bin"]
    if kind == "bubblewrap":
        return ["bwrap", "--unshare-pid", "--unshare-user", "--unshare-net", *SYSTEM, "--ro-bind", share, "/run/openurl",
                "--clearenv", *browser, *python]
    if kind == "namespaces":
        script = f"mount --bind {share} /mnt && export BROWSER=/mnt/xdg-open PATH=/mnt:/usr/bin && exec {' '.join(python)}"
        return ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "sh", "-c", script]
    # These show the runtime directory in each container, and share the host's network. The program is found on PATH there, and finds
    # the share by the container's name.
    command = ["bwrap", "--unshare-user", *SYSTEM, "--bind", runtime, runtime, "--ro-bind", f"{share}/openurl-remote", "/opt/xdg-open",
               "--clearenv", "--setenv", "PATH", "/opt:/usr/bin", "--setenv", "XDG_RUNTIME_DIR", runtime,
               "--setenv", "BROWSER", f"{share}/xdg-open"]
    if kind == "distrobox":
        return [*command, "--setenv", "CONTAINER_ID", "box", *python]
    write(f"{session.root}/containerenv", 'engine="podman-4.9"\nname="box"\nid="4711"\n')
    return [*command, "--ro-bind", f"{session.root}/containerenv", "/run/.containerenv", *python]


def add_browser(session):
    """Makes Chromium the browser. Its command notes when it starts, and hands each URL to the Chromium that runs."""
    write(f"{session.root}/browser", f'#!/bin/bash\necho "$EPOCHREALTIME $1" >>{session.root}/starts\n'
          f'exec chromium {" ".join(OPTIONS[:-1])} --user-data-dir={session.root}/chromium "$1"\n', 0o755)
    write(f"{session.root}/data/applications/browser.desktop",
          f"[Desktop Entry]\nType=Application\nName=Chromium\nExec={session.root}/browser %u\n"
          "MimeType=x-scheme-handler/http;x-scheme-handler/https;\n")
    write(f"{session.root}/config/mimeapps.list",
          "[Default Applications]\nx-scheme-handler/http=browser.desktop\nx-scheme-handler/https=browser.desktop\n")


def cpu_time():
    """Returns the processor time that the processes of this check have used, in ticks of the kernel."""
    ticks = 0
    for process in descendants():
        try:
            with open(f"/proc/{process}/stat", errors="replace") as file:
                ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return ticks


def wait_for_rest():
    """Waits until the processes of this check are idle: Chromium works on a closed tab for a while, and no person clicks so soon.

    Returns whether they are.
    """
    seen = [None] * 4

    def is_idle():
        seen.append(cpu_time())
        return seen[-1] == seen[-4]

    return wait_until(is_idle, 3)


def visit(session, kind):
    session.start_display()
    add_browser(session)
    session.start_bus()
    source = "host:box" if kind == "ssh" else "container:box"
    session.run("openurl", "policy", "allow", "--source", source, "https")
    site = Site(session)
    chromium = Chromium(session, options=["--ignore-certificate-errors"])
    far = session.start(*far_command(session, kind), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = 20_000 + os.getpid() % 10_000
    for way, (program, signs_in) in WAYS.items():
        times, outcomes = [], set()
        for number in range(ROUNDS):
            url = f"{site.origin}/page?{way.strip('$')}{number}"
            if signs_in:
                url += f"&redirect_uri=http%3A%2F%2Flocalhost%3A{port}%2Fdone&state=s{number}"
            if not wait_for_rest():
                print(f"      {kind}, {way}: Chromium was busy before round {number}", flush=True)
            far.stdin.write(f"{program} {url} {port if signs_in else 0}\n")
            far.stdin.flush()
            begin, end, status, path = far.stdout.readline().split()
            asked, page = site.requests.get(timeout=20)
            with open(f"{session.root}/starts") as file:
                started, started_url = file.read().splitlines()[-1].split()
            is_right = started_url == url and url.endswith(page)
            callback = path.removesuffix(f"state=s{number}") if signs_in else path
            outcomes.add(f"{'the page' if is_right else f'{page} for {url}'}, status {status}, callback {callback}")
            begin, end, started = float(begin), float(end), float(started)
            times.append((started - begin, asked - started, end - asked if signs_in else 0, (end if signs_in else asked) - begin))
            chromium.close_other_tabs()
        # The first one starts what is not running yet.
        words = [f"{statistics.median(column) * 1000:.0f} (at most {max(column) * 1000:.0f})" for column in zip(*times[1:])]
        print(f"      {kind}, {way}, ms: before {words[0]}, Chromium {words[1]}, after {words[2]}, together {words[3]}", flush=True)
        expected = f"the page, status 0, callback {'/done?code=1&' if signs_in else 'none'}"
        yield way, expected, " or ".join(sorted(outcomes))


def declare(kind):
    @check(f"pages and sign-ins from {kind}", *PACKAGES, "openssh-client", "openssh-server", "openssl", "util-linux", limit=120)
    def sign_ins(session):
        yield from visit(session, kind)


for kind in ["ssh", "bubblewrap", "namespaces", "toolbox", "distrobox"]:
    declare(kind)
