#!/usr/bin/python3
"""A handler that schedules a task for each URL, and notes its tasks: tasks_handler.py ID FILE

The host of the URL is the name of the task. A task answers with its name if that is a result.
"""

import sys
import dbus, dbus.service
from script_handler import HANDLER, ID, OPEN, ScriptHandler, bus, run

class Handler(ScriptHandler):
    @dbus.service.method(**OPEN)
    def Open(self, url, context):
        router = bus.get_object("org.openurl.Router1", "/org/openurl/Router1")
        router.Schedule(ID, url.partition("://")[2], {"after": 0}, dbus_interface="org.openurl.Tasks1")
        return True, {}, []

    @dbus.service.method(HANDLER, in_signature="a{sv}", out_signature="a{sv}")
    def Wake(self, context):
        with open(sys.argv[2], "a") as file:
            print(context["reason"], context["task"], file=file)
        return {"result": context["task"]}

run(Handler)
