#!/usr/bin/python3
"""A handler that notes when it is told that it is inactive, active or in the background."""

import dbus.service
from script_handler import HANDLER, ScriptHandler, notes, run

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER)
    def ResignActive(self):
        notes.append("inactive")

    @dbus.service.method(HANDLER)
    def BecomeActive(self):
        notes.append("active")

    @dbus.service.method(HANDLER)
    def EnterBackground(self):
        notes.append("background")

run(Handler)
