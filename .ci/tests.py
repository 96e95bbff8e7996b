#!/usr/bin/env python3
"""Runs the tests, and ends them after half an hour. If that happens, the output says which tests hang, and what the processes
of their session wait for."""

import json
import os
import pathlib
import signal
import subprocess
import sys

LIMIT = 1800
EVENTS = pathlib.Path(".build/tests.jsonl")


def unfinished():
    """The tests that have started and not ended. A test counts as started while it waits for its turn."""
    tests = {}
    for line in EVENTS.read_text(errors="replace").splitlines():
        if '"kind":"event"' not in line:
            continue
        try:
            event = json.loads(line)["payload"]
        except ValueError:
            # The last line may be incomplete.
            continue
        if event["kind"] == "testStarted":
            tests[event["testID"]] = True
        elif event["kind"] == "testEnded":
            tests.pop(event["testID"], None)
    return tests


EVENTS.parent.mkdir(exist_ok=True)
EVENTS.unlink(missing_ok=True)
options = f"--event-stream-version 0 --event-stream-output-path {EVENTS.absolute()}"
tests = subprocess.Popen(["make", "test", f"TEST_OPTIONS={options}"], start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
try:
    sys.exit(tests.wait(timeout=LIMIT))
except subprocess.TimeoutExpired:
    print(f"The tests have not ended after {LIMIT // 60} minutes. These have not:", flush=True)
    if EVENTS.exists():
        print(*unfinished(), sep="\n", flush=True)
    columns = "pid,ppid,tid,stat,etime,wchan:24,args"
    subprocess.run(["ps", "-L", "-s", str(tests.pid), "-o", columns, "--sort", "pid"])
    sys.exit(1)
finally:
    # The package manager gives the tests a process group of their own.
    subprocess.run(["pkill", "-KILL", "-s", str(tests.pid)])
