#!/usr/bin/python3
"""A handler that notes its pushes: pushed_handler.py ID FILE"""

import sys
import dbus, dbus.service
from script_handler import HANDLER, ScriptHandler, run

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER, in_signature="a{sv}")
    def Wake(self, context):
        if "push" not in context: return
        push = context["push"]
        text = bytes(push["message"]).decode()
        with open(sys.argv[2], "a") as file:
            print(context["reason"], push.get("instance", ""), push.get("id", ""), text, sep="|", file=file)
        if text == "refuse": raise dbus.DBusException("not now", name="com.example.Error")

run(Handler)
