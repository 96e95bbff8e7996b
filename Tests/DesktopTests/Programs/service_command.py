"""Prints the command of a D-Bus service file as GLib splits it."""

import sys
from gi.repository import GLib

file = GLib.KeyFile()
file.load_from_file(sys.argv[1], GLib.KeyFileFlags.NONE)
print(GLib.shell_parse_argv(file.get_string("D-BUS Service", "Exec"))[1])
