#!/usr/bin/python3
"""A handler that writes a line before it takes its name."""

from script_handler import ScriptHandler, run

print("ready", flush=True)
run(ScriptHandler)
