#!/usr/bin/env python3
"""Sites that lie about apps, each on its own host below sites.example, at one port of this machine.

usage: hostile_sites.py --list
       hostile_sites.py DIRECTORY

Lists the sites with the answer that openurl-proofs must give about the app com.example.app:

    file         the site's file names the app, and gives it /notes/* without /notes/admin/*
    nothing      the site's file is valid, but gives the app nothing
    none         the site has answered without a usable file
    unreachable  nobody has answered who is the site

Or makes a private authority in the directory (authority.pem), prints the port of all sites and those of the few that have their
own, and serves until standard input ends. The file `requests` in the directory gets a line for each connection and each request.
"""
import gzip
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
import warnings
import zlib

DOMAIN = "sites.example"
OWN = "/.well-known/openurl.json"
APPLE = "/.well-known/apple-app-site-association"
ANDROID = "/.well-known/assetlinks.json"
APP = "com.example.app"


def file(**entry):
    """A site's file with one entry for the app."""
    entry = {"id": APP, "paths": ["/notes/*"], "exclude": ["/notes/admin/*"], **entry}
    return json.dumps({"apps": [{key: value for key, value in entry.items() if value is not None}]}).encode()


GOOD = file()


def answer(body=GOOD, status="200 OK", type="application/json", headers=(), length=True):
    lines = [f"HTTP/1.1 {status}", *headers]
    if type is not None:
        lines.append(f"Content-Type: {type}")
    if length is True:
        lines.append(f"Content-Length: {len(body)}")
    lines += ["Set-Cookie: a=b; Secure; Path=/", "Connection: close", "", ""]
    return "\r\n".join(lines).encode() + body


def redirect(status, to):
    return answer(GOOD, status=status, headers=[f"Location: {to}"])


def files(own, **others):
    """A site with several files, by path."""
    names = {"apple": APPLE, "android": ANDROID}
    paths = {OWN: answer(own), **{names[key]: value for key, value in others.items()}}
    return lambda path: paths.get(path, answer(b"{}", status="404 Not Found"))


def apple(*components, **entry):
    details = [{"appIDs": ["TEAM.app"], "components": list(components), **entry}]
    return answer(json.dumps({"applinks": {"details": details}}).encode())


def android(*components, package="app"):
    permission = "delegate_permission/common.handle_all_urls"
    statement = {"relation": [permission], "target": {"namespace": "android_app", "package_name": package}}
    if components:
        statement["relation_extensions"] = {permission: {"dynamic_app_link_components": list(components)}}
    return answer(json.dumps([statement]).encode())


def endless(prefix, piece, pause=0.0):
    """Sends until the other end has had enough."""

    def send(connection):
        connection.sendall(prefix)
        while True:
            connection.sendall(piece)
            if pause:
                time.sleep(pause)

    return send


def hang(connection):
    connection.recv(1)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BOMB = gzip.compress(GOOD + b" " * (8 << 20))
NOTES = {"/": "/notes/*"}
ADMIN = {"/": "/notes/admin/*", "exclude": True}

# Each site: the answer that is right, and the response, a function of the connection, or a function of the path.
SITES = {
    # Honest sites, which show that the others fail for the right reason.
    "good": ("file", answer()),
    "good-charset": ("file", answer(type="application/json; charset=utf-8")),
    "good-case": ("file", answer(type="Application/JSON")),
    "good-chunked": ("file", HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)),
    "good-comment": ("file", answer(file(comment="for Linux"))),
    "good-others": ("file", answer(json.dumps({"apps": [{"id": "com.example.other", "what": 1}, json.loads(GOOD)["apps"][0]]}).encode())),
    "good-apple": ("file", files(file(paths=None, exclude=None, apple="TEAM.app"), apple=apple(ADMIN, NOTES))),
    "good-android": ("file", files(file(paths=None, exclude=None, android="app"), android=android(ADMIN, NOTES))),
    # Redirects.
    **{
        f"redirect-{status.split()[0]}": ("none", redirect(status, f"https://good.{DOMAIN}{OWN}"))
        for status in ["300 Multiple Choices", "301 Moved", "302 Found", "303 See Other", "305 Use Proxy", "307 Temporary", "308 Permanent"]
    },
    "redirect-http": ("none", redirect("301 Moved", f"http://good.{DOMAIN}{OWN}")),
    "redirect-self": ("none", redirect("302 Found", OWN)),
    "redirect-file": ("none", redirect("302 Found", "file:///etc/passwd")),
    "redirect-local": ("none", redirect("302 Found", "https://127.0.0.1/")),
    "redirect-in-200": ("none", redirect("200 OK", "https://evil.example/").replace(GOOD, b"{}" + b" " * (len(GOOD) - 2))),
    "not-modified": ("none", answer(b"", status="304 Not Modified")),
    "meta-refresh": ("none", answer(b"<meta http-equiv=refresh content='0;url=/x'>", type="text/html")),
    # Statuses.
    "not-found": ("none", answer(status="404 Not Found")),
    "gone": ("none", answer(status="410 Gone")),
    "forbidden": ("none", answer(status="403 Forbidden")),
    "password": ("none", answer(status="401 Unauthorized", headers=["WWW-Authenticate: Basic realm=x"])),
    "proxy-password": ("none", answer(status="407 Proxy", headers=["Proxy-Authenticate: Basic realm=x"])),
    "busy": ("unreachable", answer(status="429 Too Many Requests")),
    "broken": ("unreachable", answer(status="500 Oops")),
    "away": ("unreachable", answer(status="503 Unavailable", headers=["Retry-After: 0"])),
    "no-content": ("unreachable", answer(b"", status="204 No Content")),
    "partial-content": ("unreachable", answer(status="206 Partial Content")),
    "strange-status": ("unreachable", answer(status="999 Strange")),
    # Types.
    "html": ("none", answer(type="text/html")),
    "text": ("none", answer(type="text/plain")),
    "no-type": ("none", answer(type=None)),
    "long-type": ("none", answer(type="application/jsonx")),
    "other-type": ("none", answer(type="application/ld+json")),
    "two-types": ("none", answer(type="text/html", headers=["Content-Type: application/json"])),
    "two-types-reversed": ("none", answer(type="application/json", headers=["Content-Type: text/html"])),
    # Sizes.
    "huge-length": ("none", HEAD + b"Content-Length: 1000000000\r\n\r\n" + GOOD),
    "huge-body": ("none", answer(GOOD + b" " * (128 << 10))),
    "huge-without-length": ("none", answer(GOOD + b" " * (1 << 20), length=False)),
    "endless-chunks": ("none", endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"400\r\n" + b" " * 1024 + b"\r\n")),
    "endless-headers": ("none", endless(b"HTTP/1.1 200 OK\r\n", b"X: " + b"x" * 1000 + b"\r\n")),
    "endless-interim": ("none", endless(b"", b"HTTP/1.1 103 Early Hints\r\nX: " + b"x" * 500 + b"\r\n\r\n")),
    "long-header": ("none", HEAD + b"X: " + b"x" * (60 << 10) + b"\r\nContent-Length: %d\r\n\r\n" % len(GOOD) + GOOD),
    # Times.
    "slow-body": ("unreachable", endless(HEAD + b"Content-Length: 100000\r\n\r\n" + GOOD, b" ", pause=0.05)),
    "slow-headers": ("unreachable", endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", pause=0.05)),
    "silent": ("unreachable", hang),
    "silent-before-tls": ("unreachable", hang),
    "cut-off": ("unreachable", HEAD + b"Content-Length: 100000\r\n\r\n" + GOOD),
    "cut-off-chunk": ("unreachable", HEAD + b"Transfer-Encoding: chunked\r\n\r\nfff\r\n" + GOOD),
    "closed": ("unreachable", b""),
    # Compression and framing.
    "gzip": ("none", answer(gzip.compress(GOOD), headers=["Content-Encoding: gzip"])),
    "gzip-bomb": ("none", answer(BOMB, headers=["Content-Encoding: gzip"])),
    "gzip-unsaid": ("none", answer(gzip.compress(GOOD))),
    "deflate": ("none", answer(zlib.compress(GOOD), headers=["Content-Encoding: deflate"])),
    "gzip-claimed": ("none", answer(headers=["Content-Encoding: gzip"])),
    "gzip-in-transfer": ("none", HEAD + b"Transfer-Encoding: gzip\r\n\r\n" + gzip.compress(GOOD)),
    "bad-chunk": ("unreachable", HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + GOOD),
    "old-protocol": ("unreachable", GOOD),
    "nul-header": ("unreachable", b"HTTP/1.1 200 OK\r\nX: \0\r\nContent-Type: application/json\r\n\r\n" + GOOD),
    "switch-protocol": ("unreachable", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n" + GOOD),
    # Who answers.
    "expired": ("unreachable", answer()),
    "self-signed": ("unreachable", answer()),
    "other-host": ("unreachable", answer()),
    "old-tls": ("unreachable", answer()),
    "plain": ("unreachable", answer()),
    # JSON.
    "empty": ("none", answer(b"")),
    "not-json": ("none", answer(b"apps = com.example.app")),
    "cut-json": ("none", answer(GOOD[:-1])),
    "more-after-json": ("none", answer(GOOD + b"x")),
    "two-documents": ("none", answer(GOOD + GOOD)),
    "array": ("none", answer(b"[" + GOOD + b"]")),
    "null": ("none", answer(b"null")),
    "repeated-apps": ("none", answer(b'{"apps": [], ' + GOOD[1:])),
    "repeated-paths": ("none", answer(GOOD.replace(b'"paths"', b'"paths": ["/"], "paths"'))),
    "repeated-id": ("none", answer(GOOD.replace(b'"id"', b'"id": "com.example.other", "id"'))),
    "invalid-utf8": ("none", answer(GOOD.replace(b"/notes/*", b"/notes/\xc0\xaf*"))),
    "surrogate": ("none", answer(GOOD.replace(b"/notes/*", b"/\\ud800/*"))),
    "byte-order-mark": ("none", answer(b"\xef\xbb\xbf" + GOOD)),
    "utf-16": ("none", answer(GOOD.decode().encode("utf-16"))),
    "nul": ("none", answer(GOOD.replace(APP.encode(), b"com.example.app\\u0000"))),
    "deep": ("none", answer(b'{"x": ' + b"[" * 50_000 + b"]" * 50_000 + b"," + GOOD[1:])),
    "deep-40": ("none", answer(b'{"x": ' + b"[" * 40 + b"]" * 40 + b"," + GOOD[1:])),
    "many-values": ("none", answer(b'{"x": [' + b"1," * 30_000 + b"1]," + GOOD[1:])),
    "huge-number": ("none", answer(b'{"x": 1e999999,' + GOOD[1:])),
    "apps-object": ("none", answer(json.dumps({"apps": json.loads(GOOD)["apps"][0]}).encode())),
    "apps-strings": ("none", answer(json.dumps({"apps": [APP]}).encode())),
    "no-id": ("none", answer(json.dumps({"apps": [{"paths": ["/*"]}]}).encode())),
    # Entries.
    "no-apps": ("nothing", answer(b'{"apps": []}')),
    "other-app": ("nothing", answer(file(id="com.example.other"))),
    "other-case": ("nothing", answer(file(id="com.example.App"))),
    "longer-id": ("nothing", answer(file(id="com.example.app.evil"))),
    "pattern-id": ("nothing", answer(file(id="com.example.*"))),
    "space-id": ("nothing", answer(file(id="com.example.app "))),
    "line-id": ("nothing", answer(file(id="com.example.other\napp com.example.app\n+ /*"))),
    "two-entries": ("nothing", answer(json.dumps({"apps": json.loads(GOOD)["apps"] * 2}).encode())),
    "unknown-key": ("nothing", answer(file(onlyIf="signed"))),
    "no-paths": ("nothing", answer(file(paths=None))),
    "empty-paths": ("nothing", answer(file(paths=[]))),
    "text-paths": ("nothing", answer(file(paths="/*"))),
    "number-paths": ("nothing", answer(file(paths=[1]))),
    "many-paths": ("nothing", answer(file(paths=["/a"] * 65))),
    "large-paths": ("nothing", answer(file(paths=["/" + "a" * 200] * 30))),
    "long-path": ("nothing", answer(file(paths=["/" + "a" * 300]))),
    "line-path": ("nothing", answer(file(paths=["/a\n+ /*"]))),
    "parent-path": ("nothing", answer(file(paths=["/notes/../*"]))),
    "escaped-parent-path": ("nothing", answer(file(paths=["/%2e%2e/*"]))),
    "slashes-path": ("nothing", answer(file(paths=["//evil.example/*"]))),
    "backslash-path": ("nothing", answer(file(paths=["/\\notes/*"]))),
    "url-path": ("nothing", answer(file(paths=["https://other.example/*"]))),
    "bad-exclusion": ("nothing", answer(file(exclude=["admin"]))),
    "text-system": ("nothing", answer(file(systemOnly="yes"))),
    # Files for phones.
    "apple-missing": ("nothing", files(file(apple="TEAM.app"))),
    "apple-redirect": ("nothing", files(file(apple="TEAM.app"), apple=redirect("301 Moved", "https://evil.example/"))),
    "apple-away": ("unreachable", files(file(apple="TEAM.app"), apple=answer(status="503 Unavailable"))),
    "apple-other": ("nothing", files(file(apple="TEAM.other"), apple=apple(NOTES))),
    "apple-alone": ("none", files(b"", apple=apple(NOTES))),
    "apple-strange-exclusion": ("nothing", files(file(apple="TEAM.app"), apple=apple({"/": "/$(x)/*", "exclude": True}, NOTES))),
    "apple-decoded-exclusion": ("nothing", files(file(apple="TEAM.app"), apple=apple({"/": "/a", "exclude": True, "percentEncoded": False}))),
    "apple-unsigned": ("nothing", files(file(apple="TEAM.app"), apple=answer(b"not json"))),
    "android-other": ("nothing", files(file(android="other"), android=android(NOTES))),
    "android-permission": ("nothing", files(file(android="app"), android=answer(json.dumps([{"relation": ["delegate_permission/common.get_login_creds"], "target": {"namespace": "android_app", "package_name": "app"}}]).encode()))),
    "android-web": ("nothing", files(file(android="app"), android=answer(json.dumps([{"relation": ["delegate_permission/common.handle_all_urls"], "target": {"namespace": "web", "site": "https://x"}}]).encode()))),
    # What the site says changes from one answer to the next: first the good file, then one that does not name the app.
    "changing": ("file", answer()),
}
SPECIAL = {"expired", "self-signed", "other-host"}


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Authority:
    """A private authority, and the certificates that it and others give."""

    def __init__(self, directory):
        self.directory = directory
        self.make_key("authority")
        openssl("req", "-x509", "-new", "-key", self.path("authority.key"), "-subj", "/CN=Test authority", "-days", "2",
                "-out", self.path("authority.pem"))
        self.contexts = {
            None: self.context("site", f"*.{DOMAIN}"),
            "expired": self.context("expired", f"*.{DOMAIN}", days="-1"),
            "other-host": self.context("other", "*.other.example"),
            "self-signed": self.context("self", f"*.{DOMAIN}", signed=False),
        }
        self.old = self.context("old", f"*.{DOMAIN}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.old.minimum_version = ssl.TLSVersion.TLSv1
            self.old.maximum_version = ssl.TLSVersion.TLSv1_1
        self.old.set_ciphers("ALL:@SECLEVEL=0")

    def path(self, name):
        return f"{self.directory}/{name}"

    def make_key(self, name):
        openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", self.path(f"{name}.key"))

    def context(self, name, host, days="2", signed=True):
        self.make_key(name)
        request, certificate = self.path(f"{name}.csr"), self.path(f"{name}.pem")
        with open(self.path("extensions"), "w") as extensions:
            extensions.write(f"subjectAltName=DNS:{host}\n")
        openssl("req", "-new", "-key", self.path(f"{name}.key"), "-subj", f"/CN={host}", "-out", request)
        signer = ["-CA", self.path("authority.pem"), "-CAkey", self.path("authority.key"), "-CAcreateserial"]
        own = ["-signkey", self.path(f"{name}.key")]
        openssl("x509", "-req", "-in", request, *(signer if signed else own), "-days", days, "-extfile",
                self.path("extensions"), "-out", certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, self.path(f"{name}.key"))
        return context


class Sites:
    def __init__(self, directory):
        self.authority = Authority(directory)
        self.log = open(f"{directory}/requests", "a", buffering=1)
        self.lock = threading.Lock()
        self.changed = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        # A site that does not speak TLS, speaks an old one, or says nothing, has a port of its own.
        self.plain = socket.create_server(("127.0.0.1", 0))
        self.old = socket.create_server(("127.0.0.1", 0))
        self.mute = socket.create_server(("127.0.0.1", 0))

    def note(self, text):
        with self.lock:
            self.log.write(text + "\n")

    def serve(self, listener, handle):
        while True:
            connection, _ = listener.accept()
            connection.settimeout(30)
            self.note("connection")
            threading.Thread(target=self.guard, args=(handle, connection), daemon=True).start()

    def guard(self, handle, connection):
        try:
            handle(connection)
        except OSError:
            pass  # The other end has had enough, which is what most of these sites are for.
        finally:
            connection.close()

    def handle(self, connection):
        names = []

        def choose(tls, name, _):
            names.append(name or "")
            case = (name or "").split(".")[0]
            tls.context = self.authority.contexts.get(case if case in SPECIAL else None)

        outer = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        outer.load_cert_chain(self.authority.path("site.pem"), self.authority.path("site.key"))
        outer.sni_callback = choose
        with outer.wrap_socket(connection, server_side=True) as tls:
            self.respond(tls, names[0] if names else "")

    def handle_old(self, connection):
        with self.authority.old.wrap_socket(connection, server_side=True) as tls:
            self.respond(tls, f"old-tls.{DOMAIN}")

    def respond(self, connection, host):
        request = b""
        while b"\r\n\r\n" not in request:
            part = connection.recv(4096)
            if not part:
                return
            request += part
        lines = request.decode("latin-1").split("\r\n")
        self.note("request " + host + " " + " | ".join(line for line in lines if line))
        case, path = host.split(".")[0], lines[0].split(" ")[1]
        _, response = SITES[case]
        if case == "changing":
            if self.changed:
                response = answer(file(id="com.example.other"))
            self.changed = True
        if callable(response):
            result = response(path) if response.__code__.co_varnames[:1] == ("path",) else response(connection)
            if result is None:
                return
            response = result
        elif path != OWN:
            response = answer(b"{}", status="404 Not Found")
        connection.sendall(response)

    def run(self):
        for listener, handle in [
            (self.listener, self.handle),
            (self.plain, lambda connection: self.respond(connection, f"plain.{DOMAIN}")),
            (self.old, self.handle_old),
            (self.mute, hang),
        ]:
            threading.Thread(target=self.serve, args=(listener, handle), daemon=True).start()
        for name, listener in [("*", self.listener), ("plain", self.plain), ("old-tls", self.old), ("silent-before-tls", self.mute)]:
            print(name, listener.getsockname()[1])
        print(flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        for name, (expected, _) in SITES.items():
            print(name, expected)
    else:
        Sites(sys.argv[1]).run()
