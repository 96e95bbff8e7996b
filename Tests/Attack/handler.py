#!/usr/bin/python3
"""A handler in Python for attacks.

    handler.py ID LOG [WORD ...]

The words: `delay=SECONDS` before each answer, `hang` for no answer, `until=FILE` for none
before the file is there, `replaceable` to let others take the name, `error=TEXT`,
`decline=TEXT`, `shout=SECONDS` to fill standard output, `child` to leave a child that holds the connection, `take=NAME` to take another name, too,
`router` to answer as a router does, `forward=URL` to open a URL at the signal SIGUSR1, `calls` to
call the router for a caller of `com.example.Puppet`, `silent` to reply with nothing, `spawn=FILE` to start a script of the shell,
`tasks=COUNT` to begin background tasks with long names, `marks` to answer with texts that take long to compare.
"""

import json, os, signal, subprocess, sys, time
from bus import CALL, Bus, BusError, NoAnswer

ID, LOG = sys.argv[1:3]
WORDS = dict(word.partition("=")[::2] for word in sys.argv[3:])


def note(text):
    with open(LOG, "a") as file:
        file.write(text + "\n")


def forward(*_):
    try:
        Bus().open(WORDS["forward"], wait=10)
        note("forwarded, answered")
    except (BusError, NoAnswer) as error:
        note(f"forwarded, {error}")


def puppet(bus, call):
    interface, member, signature, body = call.body
    try:
        answer = "answered " + repr(bus.call("org.openurl." + interface.rpartition(".")[2], member, signature, json.loads(body)))
    except (BusError, NoAnswer) as error:
        answer = str(error)
    bus.reply(call, "s", [answer])


def serve(bus):
    while True:
        try:
            call = bus.receive(3600)
        except NoAnswer:
            return
        if call.kind != CALL:
            continue
        if "calls" in WORDS and call.interface == "com.example.Puppet":
            puppet(bus, call)
            continue
        if "router" in WORDS and call.member == "OpenURL":
            note(f"open {call.body[0]}")
            bus.reply(call, "a{sv}", [{"handler": ("s", "com.example.victim"), "way": ("s", "active")}])
            continue
        if call.interface != "org.openurl.Handler1" or call.member != "Open":
            note(f"call {call.interface}.{call.member}")
            bus.refuse(call, "org.freedesktop.DBus.Error.UnknownMethod", "there is only Open")
            continue
        url, context = call.body
        note(f"open {url}")
        note("context " + json.dumps(context, default=repr))
        if "hang" in WORDS:
            continue
        while "until" in WORDS and not os.path.exists(WORDS["until"]):
            time.sleep(0.05)
        time.sleep(float(WORDS.get("delay", 0)))
        if "marks" in WORDS:
            marks = b"a" + b"\xcc\x81\xcc\x96" * (32 << 10)
            if url.endswith("error"):
                bus.refuse(call, "com.example.Error.Thrown", marks)
            else:
                reply = {marks + bytes([number]): ("s", marks) for number in range(65, 69)}
                bus.reply(call, "ba{sv}a(stb)", [True, reply, [(marks, 0, False)]])
        elif "error" in WORDS:
            bus.refuse(call, "com.example.Error.Thrown", json.loads(f'"{WORDS["error"]}"') * int(WORDS.get("times", 1)))
        elif "decline" in WORDS:
            bus.reply(call, "ba{sv}a(stb)", [False, {"reason": ("s", json.loads(f'"{WORDS["decline"]}"'))}, []])
        elif "silent" in WORDS:
            bus.reply(call, "ba{sv}a(stb)", [True, {}, []])
        else:
            environment = ("as", [f"{name}={value}" for name, value in os.environ.items()])
            source = ("s", context.get("source-application", ""))
            bus.reply(call, "ba{sv}a(stb)", [True, {"pid": ("u", os.getpid()), "environment": environment,
                                                    "source-application": source}, []])


def main():
    note(f"start {os.getpid()}")
    bus = Bus()
    flags = int(WORDS.get("flags", 5 if "replaceable" in WORDS else 4))
    note(f"name {bus.own(ID, flags)}")
    signal.signal(signal.SIGUSR1, forward)
    if "take" in WORDS:
        note(f"taken {bus.own(WORDS['take'])}")
    if "spawn" in WORDS:
        subprocess.Popen(["/bin/sh", WORDS["spawn"]])
    for number in range(int(WORDS.get("tasks", 0))):
        try:
            bus.call("org.openurl.Lifecycle1", "BeginBackgroundTask", "s", [f"{number}" + "x" * 100_000])
        except BusError as error:
            note(f"{error}")
            break
    note("tasks begun")
    if "shout" in WORDS and os.fork() == 0:
        line, end = b"x" * 4000 + b"\n", time.monotonic() + float(WORDS["shout"])
        while time.monotonic() < end:
            os.write(1, line * 16)
        os._exit(0)
    if "child" in WORDS and os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    serve(bus)


if __name__ == "__main__":
    main()
