"""A disk that becomes full while files and URLs are accepted."""

import ctypes, os
from session import HANDLER, HERE, MANIFEST, SCHEME, Skip, check

SPARE = 64 << 20  # bytes of the disk that a copy leaves free
SIZE = SPARE + (6 << 20)
NEWNS, NEWUSER, PRIVATE = 0x20000, 0x10000000, 1 << 18 | 1 << 14
TYPES = """<key>CFBundleDocumentTypes</key><array><dict><key>CFBundleTypeMIMETypes</key><array>
<string>application/octet-stream</string><string>text/plain</string></array></dict></array>
<key>CFBundleURLTypes</key>"""


def small_disk(*directories):
    """Gives this check, and all that it starts, a view of files with a small disk at each directory."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()

    def call(function, *arguments):
        if function(*arguments) != 0:
            raise Skip(os.strerror(ctypes.get_errno()))

    call(libc.unshare, NEWNS if user == 0 else NEWNS | NEWUSER)
    if user != 0:
        for name, text in [("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")]:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    call(libc.mount, b"none", b"/", None, ctypes.c_ulong(PRIVATE), None)
    for directory in directories:
        call(libc.mount, b"tmpfs", directory.encode(), b"tmpfs", ctypes.c_ulong(0), f"size={SIZE}".encode())


def files(directory):
    return {name: os.path.getsize(f"{directory}/{name}") for name in os.listdir(directory)} if os.path.isdir(directory) else {}


@check("full disk, files")
def inbox(session):
    small_disk(f"{session.root}/data")
    os.mkdir(f"{session.root}/data/applications")
    session.start_bus()
    manifests = f"{session.root}/manifests"
    os.mkdir(manifests)
    with open(f"{manifests}/{HANDLER}.plist", "w") as file:
        arguments = "".join(f"<string>{text}</string>" for text in [HANDLER, f"{session.root}/arrivals"])
        file.write(MANIFEST.format(id=HANDLER, name="Interop", program=f"{HERE}/handler.py", arguments=arguments, scheme=SCHEME)
                   .replace("<key>CFBundleURLTypes</key>", TYPES))
    yield "openurl register", "status 0", str(session.run("openurl", "register", f"{manifests}/{HANDLER}.plist"))
    with open(f"{session.root}/file.bin", "wb") as file:
        file.write(os.urandom(1 << 20))
    place = f"{session.root}/data/{HANDLER}/Inbox"
    statuses, urls, words = [], [], set()
    for number in range(10):
        run = session.run("openurl", "send", "--to", HANDLER, f"{session.root}/file.bin", *(["--queue"] if number % 2 else []))
        statuses.append(run.status)
        if run.status == 0:
            urls.append(session.url())
        else:
            words.add(run.errors.strip().rpartition(": ")[2])
    kept = files(place)
    yield "the first file", 0, statuses[0]
    yield "the last file", 8, statuses[-1]
    yield "words of the refusals", ["'file.bin' does not fit on the disk"], sorted(words)
    yield "each accepted file has arrived once", len(kept), len(set(urls)) if len(urls) == len(set(urls)) else urls
    yield "sizes in the inbox", [1 << 20], sorted(set(kept.values()))
    for name in kept:
        os.unlink(f"{place}/{name}")
    run = session.run("openurl", "send", "--to", HANDLER, f"{session.root}/file.bin")
    yield "a file after the handler has deleted the others", "status 0", str(run)


@check("full disk, queue", limit=150)
def queue(session):
    small_disk(f"{session.root}/state")
    session.begin()
    accepted, refused = [], set()
    for number in range(400):
        url = f"{SCHEME}:?{number}-" + "x" * 40_000
        run = session.run("openurl", "--queue", url)
        if run.status == 0:
            accepted.append(url)
        else:
            refused.add(f"{run.status}")
        if len(refused) and len(accepted) > 5:
            break
        if number == 3:
            # Only what is not delivered fills the file.
            with open(f"{session.root}/state/fill", "wb", buffering=0) as file:
                try:
                    while file.write(bytes(1 << 16)):
                        pass
                except OSError:
                    pass
    yield "a URL is refused when the disk is full", True, bool(refused) and "0" not in refused
    os.unlink(f"{session.root}/state/fill")
    after = f"{SCHEME}:?after"
    yield "a URL after there is room again", "status 0", str(session.run("openurl", "--queue", after))
    # An attempt that could not be noted on the full disk is made again, a minute later at most.
    got = []
    while len(got) <= len(accepted) and (url := session.url(70)) != "nothing":
        got.append(url)
    yield "URLs that were accepted and have not arrived", 0, len(set(accepted + [after]) - set(got))
    yield "URLs that have arrived twice", 0, len(got) - len(set(got))
