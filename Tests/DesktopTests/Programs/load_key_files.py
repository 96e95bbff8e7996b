"""Prints for each numbered file in a directory whether GLib accepts it as a key file."""

import sys
from gi.repository import GLib

for number in range(int(sys.argv[2])):
    file = GLib.KeyFile()
    try:
        file.load_from_file(f"{sys.argv[1]}/{number}", GLib.KeyFileFlags.NONE)
        print("accepted")
    except GLib.Error:
        print("malformed")
