"""GIO's part of the comparison. Usage: gio.py DIRECTORY SCHEME...

Prints the milliseconds of the first lookup of a default, the median in microseconds of the next ones, and the
milliseconds that it takes from writing one more desktop file, with update-desktop-database, until GIO finds it.
"""

import os
import statistics
import subprocess
import sys
import time

from gi.repository import Gio

directory, schemes = sys.argv[1], sys.argv[2:]


def look(scheme):
    start = time.perf_counter()
    found = Gio.AppInfo.get_default_for_uri_scheme(scheme)
    if found is None:
        raise SystemExit(f"GIO does not find {scheme}")
    return time.perf_counter() - start


first = look(schemes[0])
warm = statistics.median(look(scheme) for scheme in schemes)
start = time.perf_counter()
with open(f"{directory}/one.more.desktop", "w") as file:
    file.write("[Desktop Entry]\nType=Application\nName=More\nExec=/bin/true %u\nMimeType=x-scheme-handler/onemore;\n")
subprocess.run(["update-desktop-database", directory], check=True)
# Let another process look for it, because this one may not have noticed the change yet.
again = [sys.executable, "-c", "import sys\nfrom gi.repository import Gio\n"
         "sys.exit(Gio.AppInfo.get_default_for_uri_scheme('onemore') is None)"]
registered = time.perf_counter() - start
subprocess.run(again, check=True)
print(f"{first * 1e3:.2f} {warm * 1e6:.1f} {registered * 1e3:.1f}")
