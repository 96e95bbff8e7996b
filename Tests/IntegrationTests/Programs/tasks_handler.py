#!/usr/bin/python3
"""A handler that schedules a task for each URL, and notes its tasks: tasks_handler.py ID FILE

The host of the URL is the name of the task, or `other` for a task of another handler. The reply has the names of the tasks that
the handler sees. A task answers with its name.
"""

import sys
import dbus, dbus.service
from script_handler import HANDLER, ID, OPEN, ScriptHandler, bus, run

class Handler(ScriptHandler):
    @dbus.service.method(**OPEN)
    def Open(self, url, context):
        router = bus.get_object("org.openurl.Router1", "/org/openurl/Router1")
        tasks = dbus.Interface(router, "org.openurl.Tasks1")
        name = url.partition("://")[2]
        try:
            tasks.Schedule("com.example.other" if name == "other" else ID, name, {"after": 0})
        except dbus.DBusException as error:
            return True, {"error": error.get_dbus_name()}, []
        return True, {"tasks": dbus.Array([task["name"] for task in tasks.List()], signature="s")}, []

    @dbus.service.method(HANDLER, in_signature="a{sv}", out_signature="a{sv}")
    def Wake(self, context):
        with open(sys.argv[2], "a") as file:
            print(context["reason"], context["task"], file=file)
        return {"result": context["task"]}

run(Handler)
