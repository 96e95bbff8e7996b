#!/usr/bin/python3
"""A handler that may be suspended: suspended_handler.py ID USE [FILE]

USE names what it does with the descriptor whose end continues it. With `child`, a child clears the descriptor's flags once the handler
is stopped, and makes the file.
"""

import fcntl, os, signal, subprocess, sys
import dbus.service
from script_handler import HANDLER, ID, ScriptHandler, bus, run

CHILD = os.path.join(os.path.dirname(os.path.realpath(__file__)), "clear_flags.py")

def close_everywhere(kept):
    """Close the pipe in this process. dbus-python's message holds another descriptor of it, until after the reply is sent."""
    pipe = os.fstat(kept)
    null = os.open(os.devnull, os.O_RDONLY)
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.path.samestat(os.fstat(int(name)), pipe):
                # libdbus closes the number later, so it has to stay open.
                os.dup2(null, int(name), inheritable=False)
        except OSError:
            pass  # listdir's own descriptor

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER)
    def EnterBackground(self):
        pass

    @dbus.service.method(HANDLER, in_signature="h", out_signature="b")
    def Suspend(self, lifeline):
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
                close_everywhere(kept)
            case "give":
                fcntl.fcntl(kept, fcntl.F_SETOWN, os.getppid())
            case "clear":
                fcntl.fcntl(kept, fcntl.F_SETFL, 0)
            case "child":
                subprocess.Popen(["/usr/bin/python3", CHILD, str(kept), sys.argv[3]], pass_fds=[kept])
        bus.release_name(ID)
        return True

run(Handler)
