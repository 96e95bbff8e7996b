#!/usr/bin/python3
"""A program that puts a socket of its own in the place of the router's, and poses as the router there.

    lane_router.py HOW PATH LOG

HOW: `serve` answers as the router does, and sends a URL to each program that offers itself as a handler; `silent` accepts and says
nothing; `mute` answers until the first call, and says nothing then; `full` never accepts, and fills its own waiting line. Writes each
call to the log, and `ready` at the beginning.
"""

import os, socket, sys, threading
from bus import CALL, Bus, NoAnswer

HOW, PATH, LOG = sys.argv[1:4]


def note(*words):
    with open(LOG, "a") as log:
        print(*words, file=log, flush=True)


class Peer(Bus):
    """A connection that another program has opened."""

    def __init__(self, connected):
        self.socket, self.buffer, self.fds, self.serial, self.waiting = connected, bytearray(), [], 0, []

    def authenticate(self):
        self.socket.recv(1)
        while (line := self.line()) != b"BEGIN\r\n":
            if line.startswith(b"AUTH"):
                self.socket.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
            else:
                self.socket.sendall(b"AGREE_UNIX_FD\r\n")


def serve(peer):
    try:
        peer.authenticate()
        while True:
            call = peer.receive(3600)
            note(call.kind, call.member or "", *call.body)
            if call.kind != CALL or HOW == "mute":
                continue
            if call.member == "Hello":
                peer.reply(call, "s", [":lane.1"])
            elif call.member == "OpenURL":
                peer.reply(call, "a{sv}", [{"handler": ("s", "com.example.evil"), "way": ("s", "active")}])
            else:
                peer.reply(call)
            if call.member in ["Hello", "Offer", "Ping"]:
                for id in ["com.example.victim"]:
                    peer.begin("org.openurl.Handler1", "Open", "sa{sv}", ["victim:forged", {}], to=id, path="/" + id.replace(".", "/"))
    except (NoAnswer, OSError):
        pass


def main():
    if os.path.lexists(PATH):
        os.unlink(PATH)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(PATH)
    listener.listen(0 if HOW == "full" else 100)
    kept = []
    if HOW == "full":
        try:
            while True:
                filler = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
                filler.connect(PATH)
                kept.append(filler)
        except BlockingIOError:
            pass
        note("ready")
        threading.Event().wait()
    note("ready")
    while True:
        peer = Peer(listener.accept()[0])
        note("connected")
        kept.append(peer)
        if HOW != "silent":
            threading.Thread(target=serve, args=[peer], daemon=True).start()


main()
