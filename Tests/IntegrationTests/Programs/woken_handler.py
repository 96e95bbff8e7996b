#!/usr/bin/python3
"""A handler that notes what it is woken for: woken_handler.py ID FILE"""

import sys
import dbus, dbus.service
from script_handler import HANDLER, ScriptHandler, run

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER, in_signature="a{sv}")
    def Wake(self, context):
        notes = [f"{kind}={value}" for kind, value in sorted(context.get("notifications", {}).items())]
        with open(sys.argv[2], "a") as file:
            print(context["reason"], *notes, file=file)

run(Handler)
