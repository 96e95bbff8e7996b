#!/usr/bin/python3
"""Prints what assistive programs see of a program's windows, as a JSON list.

    accessible.py NAME

Each element is a list: the role, the name, the description, and the states of a part, from the top of the window.
"""

import json, sys, time
import pyatspi

# A screen reader reads these as one, and not what is in them.
WHOLE = ["list item", "radio button", "check box"]


def parts(accessible):
    states = [pyatspi.stateToString(state) for state in accessible.getState().getStates()]
    yield [accessible.getRoleName(), accessible.name, accessible.description, states]
    if accessible.getRoleName() not in WHOLE:
        for child in filter(None, accessible):
            yield from parts(child)


def application(name, seconds=10):
    """Waits for a program with a window that has parts. Returns it, or nothing."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for found in pyatspi.Registry.getDesktop(0):
            if found and found.name == name and found.childCount and found[0].childCount:
                return found
        time.sleep(0.05)
    return None


program = application(sys.argv[1])
print(json.dumps([part for window in program or [] for part in parts(window)]))
