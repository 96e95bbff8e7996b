import sys
from gi.repository import Gio, GLib
message = Gio.DBusMessage.new_method_call(":1.2", "/a/b", "a.b", "C")
message.set_byte_order(getattr(Gio.DBusMessageByteOrder, sys.argv[1] + "_ENDIAN"))
message.set_serial(7)
message.set_body(GLib.Variant("(sunaxa{sv}(yd)b)", ("text", 3, -2, [1, -1], {
    "key": GLib.Variant("u", 5), "list": GLib.Variant("ai", [1, 2])}, (9, 0.5), True)))
sys.stdout.buffer.write(message.to_blob(Gio.DBusCapabilityFlags.NONE))
