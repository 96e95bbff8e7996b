"""A program that takes the name of a service, and answers every call as it would suit a program in a sandbox.

Usage: deceiving_service.py NAME FILE

Each call adds a line with its member to the file.
"""

import dbus, dbus.lowlevel, sys
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

name, file = sys.argv[1:]
answers = {
    "Get": ("v", dbus.Array(["MARK=deceived"], signature="s")),
    "GetCapabilities": ("as", ["actions"]),
    "Notify": ("u", 7),
    "AccessDialog": ("ua{sv}", 0, {"choices": dbus.Array([("remember", "true")], signature="(ss)")}),
    "Send": ("a{sv}", {"handler": "com.example.far", "way": "active", "reply": dbus.Dictionary({}, signature="sv")}),
}


def take(connection, message):
    if message.get_type() != dbus.lowlevel.MESSAGE_TYPE_METHOD_CALL:
        return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
    member = message.get_member()
    with open(file, "a") as calls:
        calls.write(f"{member}\n")
    if member in answers:
        signature, *values = answers[member]
        answer = dbus.lowlevel.MethodReturnMessage(message)
        answer.append(*values, signature=signature)
    else:
        answer = dbus.lowlevel.ErrorMessage(message, "org.example.Refused", "no")
    connection.send_message(answer)
    if member == "Notify":
        chosen = dbus.lowlevel.SignalMessage(message.get_path(), message.get_interface(), "ActionInvoked")
        chosen.append(7, "always", signature="us")
        connection.send_message(chosen)
    return dbus.lowlevel.HANDLER_RESULT_HANDLED


DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
bus.add_message_filter(take)
bus.request_name(name)
GLib.MainLoop().run()
