extension HandlerTemplate {
    /// A program, and a test that imports it.
    var pythonFiles: [File] {
        [
            File(
                path: "handler.py",
                text: """
                    #!/usr/bin/python3
                    \"""Answers \(scheme):?name=World with a greeting.\"""

                    import os
                    import sys
                    from urllib.parse import parse_qs, urlsplit

                    import dbus
                    import dbus.mainloop.glib
                    import dbus.service
                    from gi.repository import GLib

                    # The manifest names the same identifier.
                    ID = "\(id)"
                    # The names of the router that started this process, and of all owners of its name since then.
                    routers = {os.environ.get("OPENURL_LAUNCH")}


                    class Declined(Exception):
                        \"""The handler does not take the URL. The text is the reason.\"""


                    def open_url(url, context):
                        \"""Opens a URL, and returns the reply.\"""
                        name = parse_qs(urlsplit(url).query).get("name", [""])[0]
                        if not name:
                            raise Declined("there is no name; write \(scheme):?name=World")
                        print("greeting", name)
                        return {"greeting": f"Hello, {name}!"}


                    class Handler(dbus.service.Object):
                        @dbus.service.method(
                            "org.openurl.Handler1", in_signature="sa{sv}", out_signature="ba{sv}a(stb)", sender_keyword="caller"
                        )
                        def Open(self, url, context, caller):
                            if caller not in routers:
                                # Only the router knows who sends a URL. Any other program may have made the context up.
                                if os.environ.get("OPENURL_REACH") in ("local", "listed"):
                                    message = "the handler takes URLs only from the router"
                                    raise dbus.DBusException(message, name="org.openurl.Error.NotAllowed")
                                context = {}
                            try:
                                return True, open_url(str(url), context), []
                            except Declined as error:
                                raise dbus.DBusException(str(error), name="org.openurl.Error.Declined") from None


                    def main():
                        # Standard output is not a terminal, so Python would keep the lines until the process exits.
                        sys.stdout.reconfigure(line_buffering=True)
                        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
                        bus = dbus.SessionBus()
                        loop = GLib.MainLoop()
                        # When the bus ends, the handler exits with status 0.
                        bus.set_exit_on_disconnect(False)
                        bus.call_on_disconnection(lambda connection: loop.quit())
                        # First the object, then the name, which brings the first URL.
                        service = Handler(bus, "/" + ID.replace(".", "/").replace("-", "_"))
                        bus.watch_name_owner("org.openurl.Router1", routers.add)
                        name = dbus.service.BusName(ID, bus, do_not_queue=True)
                        loop.run()


                    if __name__ == "__main__":
                        main()

                    """,
                isExecutable: true
            ),
            File(
                path: "test_handler.py",
                text: """
                    import unittest

                    import handler


                    class OpenTests(unittest.TestCase):
                        def test_name_is_greeted(self):
                            reply = handler.open_url("\(scheme):?name=World", {})
                            self.assertEqual(reply, {"greeting": "Hello, World!"})

                        def test_url_without_a_name_is_declined(self):
                            with self.assertRaises(handler.Declined):
                                handler.open_url("\(scheme):", {})


                    if __name__ == "__main__":
                        unittest.main()

                    """
            ),
        ]
    }
}
