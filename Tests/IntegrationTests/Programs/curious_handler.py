#!/usr/bin/python3
"""A handler that asks the router where the output of another handler is, and answers with the answer: curious_handler.py ID OTHER"""

import sys
import dbus
from script_handler import OPEN, ScriptHandler, router, run

class Handler(ScriptHandler):
    @dbus.service.method(**OPEN)
    def Open(self, url, context):
        try:
            return True, {"answer": str(router("Output", sys.argv[2]))}, []
        except dbus.DBusException as error:
            return True, {"answer": error.get_dbus_name()}, []

run(Handler)
