#!/usr/bin/python3
"""A handler that begins a task on its way to the background, and notes how much time it is told."""

import dbus.service
from script_handler import HANDLER, ScriptHandler, begin, left, notes, run

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER)
    def EnterBackground(self):
        notes.append(str(left()))
        notes.append(str(begin("upload")))
        notes.append(str(left()))

run(Handler)
