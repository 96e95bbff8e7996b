#!/usr/bin/python3
"""A handler that may be suspended: suspended_handler.py ID USE [FILE]

USE names what it does with the descriptor whose end continues it. With `child`, a child clears the descriptor's flags once the handler
is stopped, and makes the file.
"""

import fcntl, os, signal, subprocess, sys
import dbus.service
from gi.repository import GLib
from script_handler import HANDLER, ID, ScriptHandler, bus, run

CHILD = os.path.join(os.path.dirname(os.path.realpath(__file__)), "clear_flags.py")

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER)
    def EnterBackground(self):
        pass

    @dbus.service.method(HANDLER, in_signature="h", out_signature="b", async_callbacks=("reply", "fail"))
    def Suspend(self, lifeline, reply, fail):
        signal.signal(signal.SIGCONT, lambda *ignored: bus.request_name(ID, 4))
        kept = self.kept = lifeline.take()
        match sys.argv[2]:
            case "keep":
                pass
            # Handlers of earlier contracts set the state of the descriptor, some of them without its signal.
            case "own":
                fcntl.fcntl(kept, fcntl.F_SETOWN, os.getpid())
                fcntl.fcntl(kept, fcntl.F_SETFL, os.O_ASYNC)
            case "close":
                os.close(kept)
            case "give":
                fcntl.fcntl(kept, fcntl.F_SETOWN, os.getppid())
            case "clear":
                fcntl.fcntl(kept, fcntl.F_SETFL, 0)
            case "child":
                subprocess.Popen(["/usr/bin/python3", CHILD, str(kept), sys.argv[3]], pass_fds=[kept])
        bus.release_name(ID)
        # Until this method returns, dbus-python's message holds the descriptor too.
        GLib.idle_add(reply, True)

run(Handler)
