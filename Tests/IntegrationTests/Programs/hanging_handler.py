#!/usr/bin/python3
"""A handler that hangs when it is interrupted, and on its way to the background."""

import time
import dbus.service
from script_handler import HANDLER, ScriptHandler, run

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER)
    def ResignActive(self):
        time.sleep(600)

    @dbus.service.method(HANDLER)
    def EnterBackground(self):
        time.sleep(600)

run(Handler)
