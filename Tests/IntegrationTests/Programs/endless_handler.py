#!/usr/bin/python3
"""A handler that opens a URL again and again in the background: endless_handler.py ID URL FILE

It writes into the file how often it did, and ends by itself after 40 times.
"""

import os, sys
import dbus.service
from gi.repository import GLib
from script_handler import HANDLER, ScriptHandler, begin, bus, run

URL, FILE = sys.argv[2:]

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER)
    def EnterBackground(self):
        begin("endless")
        self.rounds = 0
        GLib.timeout_add(200, self.again)

    def again(self):
        self.rounds += 1
        # The router kills the process at any time, and the test reads the file then.
        with open(FILE + ".new", "w") as file: file.write(str(self.rounds))
        os.replace(FILE + ".new", FILE)
        if self.rounds == 40: os._exit(0)
        proxy = bus.get_object("org.openurl.Router1", "/org/openurl/Router1", introspect=False)
        proxy.get_dbus_method("OpenURL", "org.openurl.Router1")(
            URL, {"background": True}, reply_handler=lambda result: None, error_handler=print)
        return True

run(Handler)
