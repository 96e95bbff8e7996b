#!/usr/bin/python3
"""An application of GLib that records its calls, with the platform data after each URL: glib_application.py ID FLAGS LOG

It opens URLs if its flags say so.
"""

import os, sys
import gi
gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib

ID, FLAGS, LOG = sys.argv[1:4]

class Application(Gio.Application):
    def do_before_emit(self, platform_data):
        self.told = [f"{key}={value}" for key, value in sorted(platform_data.unpack().items())]
    def do_open(self, files, count, hint):
        with open(LOG, "a") as log:
            for file in files:
                log.write(" ".join([file.get_uri()] + self.told) + "\n")
        self.hold()
    def do_activate(self):
        self.hold()

GLib.timeout_add_seconds(3, lambda: os._exit(0))
Application(application_id=ID, flags=getattr(Gio.ApplicationFlags, FLAGS)).run(sys.argv[:1] + sys.argv[4:])
