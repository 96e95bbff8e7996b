#!/usr/bin/python3
"""A handler that begins two tasks on its way to the background. The name of a task is any text."""

import dbus.service
from script_handler import HANDLER, ScriptHandler, begin, run

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER)
    def EnterBackground(self):
        begin("first\n1 x")
        begin("second")

run(Handler)
