#!/usr/bin/python3
"""A handler that notes its own notifications: notified_handler.py ID FILE

It schedules one for each URL, whose text is the URL's path, and answers with the identifier, or with the error of scheduling
one for another handler.
"""

import sys
import dbus, dbus.service
from script_handler import HANDLER, ID, OPEN, ScriptHandler, bus, run

def router(method, *arguments):
    proxy = bus.get_object("org.openurl.Router1", "/org/openurl/Router1", introspect=False)
    return proxy.get_dbus_method(method, "org.openurl.Notifications1")(*arguments)

def note(how, notification):
    with open(sys.argv[2], "a") as file:
        print(how, notification["identifier"], notification["text"], notification["user-info"]["cups"], sep="|", file=file)

class Handler(ScriptHandler):
    @dbus.service.method(**OPEN)
    def Open(self, url, context):
        owner = {"other": "com.example.other"}.get(url.partition(":")[2], ID)
        text = {"text": url.partition(":")[2], "user-info": dbus.Dictionary({"cups": 2}, signature="sv")}
        try: return True, {"identifier": router("Schedule", owner, dbus.Dictionary(text, signature="sv"))}, []
        except dbus.DBusException as error: return True, {"error": error.get_dbus_name()}, []

    @dbus.service.method("org.freedesktop.Application", in_signature="a{sv}")
    def Activate(self, platform_data):
        if "local-notification" in platform_data: note("clicked", platform_data["local-notification"])

    @dbus.service.method(HANDLER, in_signature="a{sv}")
    def Wake(self, context):
        if "local-notification" in context: note(context["reason"], context["local-notification"])

run(Handler)
