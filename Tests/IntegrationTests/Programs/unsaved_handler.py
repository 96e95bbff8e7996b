#!/usr/bin/python3
"""A handler that cannot save its state on its way to the background."""

import dbus.service
from script_handler import HANDLER, ScriptHandler, run

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER)
    def EnterBackground(self):
        raise ValueError("no space")

run(Handler)
