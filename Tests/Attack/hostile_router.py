#!/usr/bin/python3
"""A program that owns the router's name, and answers as its argument says."""

import itertools, os, sys
from bus import CALL, ROUTER, SIGNAL, Bus, NoAnswer

HOW = sys.argv[1]
EVIL = "\x1b]0;evil\x07\x1b[31mred\u202egnp.exe\u2066\u200f\x9b1m\u2028end"
RESULTS = {"OpenURL": "a{sv}", "OpenURLs": "aa{sv}", "Open": "s", "CanOpenURL": "b", "Explain": "a{sv}", "ListHandlers": "aa{sv}",
           "ListSchemes": "a{sas}", "Register": "a{sv}", "Reload": "a{ss}", "List": "aa{sv}", "Get": "v", "GetAll": "a{sv}"}


def entry(text, number=1):
    return {"id": ("s", text if HOW == "escapes" else str(number)), "url": ("s", f"x:{text}"), "handler": ("s", text),
            "state": ("s", text if HOW == "escapes" else "waiting"), "attempts": ("u", 1), "accepted": ("t", 1), "next": ("t", 2),
            "error": ("s", text), "message": ("s", text), "name": ("s", text), "path": ("s", text), "reason": ("s", text),
            "executable": ("s", text), "schemes": ("as", [text]), "warnings": ("as", [text]), "background-tasks": ("as", [text]),
            "pid": ("u", 1), "since": ("t", 1), "memory": ("t", 1), "kind": ("s", text), "transport": ("s", text),
            "candidates": ("aa{sv}", [{"id": ("s", text), "reason": ("s", text), "kind": ("s", text)}]),
            "parts": ("a{sv}", {"scheme": ("s", text), "host": ("s", text)}), "reply": ("a{sv}", {text: ("s", text)})}


def value(signature, text, number):
    if signature == "aa{sv}":
        return [entry(text, number * 100 + place) for place in range(100 if HOW == "pages" else 1)]
    return {"a{sv}": entry(text, number), "s": text, "b": True, "a{sas}": {text: [text]}, "a{ss}": {text: text}, "v": ("s", text)}[signature]


def answer(bus, call, number):
    signature = RESULTS.get(call.member, "")
    if HOW == "silent":
        return
    if HOW == "leave":
        os._exit(0)
    if HOW == "error":
        return bus.refuse(call, "org.example.Evil", EVIL)
    if HOW == "flood":
        while True:
            bus.send(SIGNAL, {"path": "/org/openurl/Router1", "interface": ROUTER, "member": "Evil", "destination": call.sender},
                     "s", ["x" * 60000])
    if HOW == "garbage":
        return bus.reply(call, "iv(ax)", [1, ("as", [EVIL]), ([1, 2],)])
    if HOW == "wrong":
        wrong = {key: ("ai", [1]) for key in entry("")}
        body = {"a{sv}": wrong, "aa{sv}": [wrong, {}]}.get(signature)
        return bus.reply(call, signature, [body]) if body else bus.reply(call, "at", [[1]])
    if HOW == "huge" and signature in ["a{sv}", "aa{sv}"]:
        big = {"id": ("s", "1"), "url": ("s", "x" * (100 << 20)), "state": ("s", "waiting"), "handler": ("s", "x"), "way": ("s", "active")}
        return bus.reply(call, signature, [big if signature == "a{sv}" else [big]])
    text = EVIL if HOW == "escapes" else "com.example.text"
    bus.reply(call, signature, [value(signature, text, number)] if signature else [])


def main():
    bus = Bus()
    bus.own(ROUTER)
    for number in itertools.count(1):
        try:
            call = bus.receive(3600)
            while call.kind != CALL:
                call = bus.receive(3600)
            answer(bus, call, number)
        except (NoAnswer, OSError):
            return


main()
