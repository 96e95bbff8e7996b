"""Calls the method String of an object without an interface, and prints the answer: call_without_interface.py NAME PATH"""

import sys
import dbus, dbus.lowlevel

message = dbus.lowlevel.MethodCallMessage(sys.argv[1], sys.argv[2], None, "String")
message.append("y")
print(dbus.SessionBus().send_message_with_reply_and_block(message, 5).get_args_list()[0])
