"""Prints the default application of each type that is an argument."""

import sys
from gi.repository import Gio

for type in sys.argv[1:]:
    print(Gio.AppInfo.get_default_for_type(type, False).get_id())
