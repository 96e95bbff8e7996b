#!/usr/bin/python3
"""A UnifiedPush distributor: distributor.py NAME VERSION

It follows the D-Bus specification of UnifiedPush in one of its versions, 1 or 2. The interface com.example.Test stands for the push
server: a test sends pushes through it. A message that the connector has not acknowledged is sent again, as after a failure of the
connector.
"""

import sys
import dbus, dbus.mainloop.glib, dbus.service
from gi.repository import GLib

NAME, VERSION = sys.argv[1:3]
DISTRIBUTOR = f"org.unifiedpush.Distributor{VERSION}"
CONNECTOR = f"org.unifiedpush.Connector{VERSION}"
TEST = "com.example.Test"

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
clients = {}  # the service, the endpoint and what is shown of each token
unacknowledged = {}  # messages by their identifiers

SIGNATURES = {"Message": "says", "NewEndpoint": "ss", "Unregistered": "s"}

def connector(token, method, *arguments, done=lambda *answer: None, failed=lambda error: None):
    # A proxy would look for the owner of the name first, and fail at once if there is none.
    signature = SIGNATURES[method] if VERSION == "1" else "a{sv}"
    bus.call_async(
        clients[token]["service"], "/org/unifiedpush/Connector", CONNECTOR, method, signature, arguments, done, failed, timeout=60)

def string(text):
    return dbus.String(text, variant_level=1)

def dictionary(**entries):
    return dbus.Dictionary({key: string(value) for key, value in entries.items()}, signature="sv")

def send(id):
    token, text = unacknowledged[id]
    message = dbus.Array(text.encode(), signature="y")
    def done(*answer):
        if VERSION == "1" or answer[0].get("id") == id: unacknowledged.pop(id, None)
    def failed(error):
        GLib.timeout_add(50, lambda: send(id) if id in unacknowledged else False)
    if VERSION == "1":
        connector(token, "Message", token, message, id, done=done, failed=failed)
    else:
        arguments = dictionary(token=token, id=id)
        arguments["message"] = message
        connector(token, "Message", arguments, done=done, failed=failed)
    return False

def tell_endpoint(token):
    endpoint = clients[token]["endpoint"]
    arguments = (token, endpoint) if VERSION == "1" else (dictionary(token=token, endpoint=endpoint),)
    connector(token, "NewEndpoint", *arguments)
    return False

def accept(service, token, description, vapid=""):
    known = clients.setdefault(token, {"endpoint": f"https://push.example/{len(clients) + 1}"})
    known.update(service=service, description=description, vapid=vapid)
    GLib.idle_add(tell_endpoint, token)

def betrayal(token):
    return f"the token {token} is \x1b[31mred\n" + "x" * 10_000

class Distributor(dbus.service.Object):
    if VERSION == "1":
        @dbus.service.method(DISTRIBUTOR, in_signature="sss", out_signature="ss")
        def Register(self, service, token, description):
            if description == "refuse": return "REGISTRATION_FAILED", "the server is away"
            if description == "as KUnifiedPush":
                accept(service, token, description)
                tell_endpoint(token)
                return "REGISTRATION_SUCCEEDED", ""
            if description == "betray": return "REGISTRATION_FAILED", betrayal(token)
            accept(service, token, description)
            return "NEW_ENDPOINT", ""

        @dbus.service.method(DISTRIBUTOR, in_signature="s")
        def Unregister(self, token):
            clients.pop(token, None)
    else:
        @dbus.service.method(DISTRIBUTOR, in_signature="a{sv}", out_signature="a{sv}")
        def Register(self, args):
            if args.get("description") == "refuse":
                return dictionary(success="REGISTRATION_FAILED", reason="NETWORK")
            if args.get("description") == "betray":
                return dictionary(success="REGISTRATION_FAILED", reason=betrayal(args["token"]))
            if args.get("description") == "as KUnifiedPush":
                accept(args["service"], args["token"], "as KUnifiedPush", args.get("vapid", ""))
                tell_endpoint(args["token"])
                return dictionary(success="REGISTRATION_SUCCEEDED")
            accept(args["service"], args["token"], args.get("description", ""), args.get("vapid", ""))
            return dictionary(success="REGISTRATION_SUCCEEDED")

        # The text of the specification gives this no answer, and its XML does.
        @dbus.service.method(DISTRIBUTOR, in_signature="a{sv}")
        def Unregister(self, args):
            clients.pop(args["token"], None)

    # The push server.

    def token(self, endpoint):
        return next(token for token, client in clients.items() if client["endpoint"] == endpoint)

    @dbus.service.method(TEST, in_signature="ss")
    def Push(self, endpoint, text):
        id = f"message-{text}"
        unacknowledged[id] = self.token(endpoint), text
        send(id)

    @dbus.service.method(TEST, out_signature="u")
    def Unacknowledged(self):
        return len(unacknowledged)

    @dbus.service.method(TEST, in_signature="ss")
    def Move(self, old, new):
        token = self.token(old)
        clients[token]["endpoint"] = new
        tell_endpoint(token)

    @dbus.service.method(TEST, in_signature="s")
    def End(self, endpoint):
        token = self.token(endpoint)
        connector(token, "Unregistered", *((token,) if VERSION == "1" else (dictionary(token=token),)))

    @dbus.service.method(TEST, out_signature="as")
    def Clients(self):
        shown = sorted(f"{client['service']} {client['description']} {client['vapid']}" for client in clients.values())
        return dbus.Array(shown, signature="s")

distributor = Distributor(bus, "/org/unifiedpush/Distributor")
name = dbus.service.BusName(NAME, bus, do_not_queue=True)
loop = GLib.MainLoop()
bus.call_on_disconnection(lambda connection: loop.quit())
loop.run()
