import sys
from gi.repository import Gio, GLib
out = []
for number in range(300):
    info = Gio.DesktopAppInfo.new_from_filename(f'{sys.argv[1]}/e{number}.desktop')
    line = info.get_commandline().replace('%%', '%')
    out.append('\x01'.join(GLib.shell_parse_argv(line)[1]))
sys.stdout.write('\0'.join(out))
