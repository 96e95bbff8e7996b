"""Prints GLib's type of each file of a list: a line for each, with the name and the contents in hexadecimal digits."""

import sys

from gi.repository import Gio

with open(sys.argv[1], encoding="ascii") as lines:
    for line in lines:
        name, contents = (bytes.fromhex(field) for field in line.rstrip("\n").split(" "))
        print(Gio.content_type_guess(name.decode("utf-8"), contents)[0])
