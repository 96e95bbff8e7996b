#!/usr/bin/python3
"""A handler that fails in the way that its arguments name: failing_handler.py ID WAY [NUMBER]"""

import ctypes, os, signal, sys, time
import dbus
from script_handler import HANDLER, ScriptHandler, bus, run

WAY, *NUMBER = sys.argv[2:]
SIGNATURE = "s" if WAY == "wrong type" else "ba{sv}a(stb)"

class Missing(Exception):
    pass

class Handler(ScriptHandler):
    @dbus.service.method(HANDLER, in_signature="sa{sv}", out_signature=SIGNATURE)
    def Open(self, url, context):
        path = url.split(":")[1]
        match WAY:
            case "slow":
                time.sleep(2 if "slow" in path else 0)
            case "fork":
                if path == "fork":
                    if os.fork(): os._exit(1)
                    time.sleep(600)
            case "signal":
                print("no disk left", file=sys.stderr, flush=True)
                os.kill(os.getpid(), int(NUMBER[0]))
            case "exit":
                os._exit(int(NUMBER[0]))
            case "exit at crash":
                if path == "crash": os._exit(3)
            case "leave the bus":
                # The death of the router is the only end of a process that has left the bus.
                bus.close()
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)
                time.sleep(600)
            case "wrong type":
                return url
            case "exception":
                if path == "empty": raise Missing()
                if path == "lines": raise ValueError("no list\n  of two lines")
                if path == "plain": raise dbus.DBusException("not today")
                return {}["name"], {}, []
        return True, {"pid": dbus.Int32(os.getpid())}, []

run(Handler)
