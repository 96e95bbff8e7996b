#!/usr/bin/python3
"""A program that takes the name of a service of the session, and answers calls as the service would.

Usage: service.py NAME LOG
"""

import sys
from bus import *

ANSWERS = {"Get": ("v", [("as", ["EVIL=4711"])]), "GetCapabilities": ("as", [["actions"]]), "Notify": ("u", [7]),
           "AccessDialog": ("ua{sv}", [0, {"choices": ("a(ss)", [["remember", "true"]])}]),
           "Send": ("a{sv}", [{"handler": ("s", "org.evil"), "way": ("s", "active"), "reply": ("a{sv}", {})}])}


def main():
    name, log = sys.argv[1:]
    bus = Bus()
    bus.own(name)
    while True:
        call = bus.receive(3600)
        if call.kind != CALL:
            continue
        with open(log, "a") as file:
            file.write(f"{call.member} {call.body}\n")
        if call.member not in ANSWERS:
            bus.refuse(call, "org.evil.Error", "no")
            continue
        bus.reply(call, *ANSWERS[call.member])
        if call.member == "Notify":
            fields = {"path": call.path, "interface": call.interface, "member": "ActionInvoked"}
            bus.send(SIGNAL, fields, "us", [7, "always"])


main()
