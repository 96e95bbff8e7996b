import sys
from gi.repository import GLib
out = []
for line in open(sys.argv[1], newline='').read().split('\0'):
    try:
        out.append('\x01'.join(GLib.shell_parse_argv(line)[1]))
    except GLib.Error:
        out.append('\x02')
sys.stdout.write('\0'.join(out))
