import Foundation

/// A handler in Python, which has one thread and only the methods that the test gives it.
enum ScriptHandler {
    /// Writes the program and its manifest, with a scheme that is the last element of the identifier.
    ///
    /// - Parameter methods: the methods besides `Open`, in Python. `Open` performs the host of the URL if it is a name in `ACTIONS`.
    static func write(_ id: String, _ methods: String, in directory: URL, extra: [String: Any] = [:]) throws {
        let program = directory.appending(path: "\(id).py")
        let text = "#!/usr/bin/python3\nID = '\(id)'\n\(head)\n\(indented(methods))\n\(tail)\n"
        try Data(text.utf8).write(to: program)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.path)
        let keys: [String: Any] = ["CFBundleExecutable": program.path, "OUArguments": [String]()]
        try RouterProcess.write(id, [], in: directory, extra: keys.merging(extra) { $1 })
    }

    private static func indented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { "    \($0)" }.joined(separator: "\n")
    }

    private static let head = """
        import os, time
        import dbus, dbus.mainloop.glib, dbus.service
        from gi.repository import GLib

        HANDLER = "org.openurl.Handler1"

        def router(method, *arguments):
            proxy = bus.get_object("org.openurl.Router1", "/org/openurl/Router1", introspect=False)
            return proxy.get_dbus_method(method, "org.openurl.Lifecycle1")(*arguments)

        tasks = {}

        def begin(name):
            task, left = router("BeginBackgroundTask", name)
            tasks[name] = task
            return left

        def end(name):
            router("EndBackgroundTask", tasks.pop(name))

        def left():
            return router("BackgroundTimeRemaining")

        class Handler(dbus.service.Object):
            @dbus.service.method(HANDLER, in_signature="sa{sv}", out_signature="ba{sv}a(stb)")
            def Open(self, url, context):
                action, _, argument = url.partition("://")[2].partition("/")
                reply = {"pid": dbus.Int32(os.getpid())}
                if action == "begin": reply["left"] = begin(argument)
                if action == "end": end(argument)
                if action == "left": reply["left"] = left()
                if notes: reply["notes"] = dbus.Array(notes, signature="s")
                return True, reply, []

        """

    private static let tail = """
        notes = []
        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        bus = dbus.SessionBus()
        handler = Handler(bus, "/" + ID.replace(".", "/"))
        name = dbus.service.BusName(ID, bus, do_not_queue=True)
        loop = GLib.MainLoop()
        bus.call_on_disconnection(lambda connection: loop.quit())
        loop.run()
        """
}
