"""Applications that the router opens URLs with, and opens URLs with again while they run."""

import json, os, queue, socketserver, threading
from session import check


class Server:
    """A server on this machine, until the process ends. Greets each connection, and keeps the lines that it gets."""

    def __init__(self, greeting):
        self.lines = lines = queue.Queue()

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                self.wfile.write(greeting)
                for line in self.rfile:
                    lines.put(line.decode(errors="replace").strip())

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.port = server.server_address[1]

    def line(self, start, seconds=20):
        """Waits for a line with this start. Returns the line, or `nothing`."""
        while True:
            try:
                line = self.lines.get(timeout=seconds)
            except queue.Empty:
                return "nothing"
            if line.startswith(start):
                return line


def path_of(run):
    """Returns the way in which the router reached the application."""
    return json.loads(run.output)["way"] if run.status == 0 else str(run)


@check("HexChat, a command that hands the URL to its running instance", "hexchat", "xvfb", "xdotool", limit=90)
def hexchat(session):
    session.start_display()
    session.start_bus()
    server = Server(b":irc 001 probe :Welcome\r\n:irc 376 probe :End of MOTD\r\n")
    for channel, path in [("first", "launched"), ("second", "completed")]:
        run = session.run("openurl", "--json", f"irc://127.0.0.1:{server.port}/{channel}")
        if channel == "first" and os.getuid() == 0:
            # HexChat warns the administrator before it starts.
            session.run("xdotool", "search", "--sync", "--onlyvisible", "--class", "hexchat", "windowfocus", "--sync",
                        "key", "Return")
        yield f"{channel} URL", f"JOIN #{channel}, {path}", f"{server.line('JOIN')}, {path_of(run)}"


@check("GNOME Text Editor, an application with D-Bus activation", "gnome-text-editor", "xvfb", "xdotool", limit=90)
def text_editor(session):
    session.start_display()
    session.start_bus()
    entry = "org.gnome.TextEditor.desktop"
    with open(f"/usr/share/applications/{entry}") as file:
        text = file.read().replace("\nMimeType=", "\nMimeType=x-scheme-handler/file;")
    with open(f"{session.root}/data/applications/{entry}", "w") as file:
        file.write(text)
    for name, path in [("first", "launched"), ("second", "active")]:
        with open(f"{session.root}/{name} grüß.txt", "w") as file:
            file.write("text")
        run = session.run("openurl", "--json", f"file://{session.root}/{name}%20gr%C3%BC%C3%9F.txt")
        found = session.run("xdotool", "search", "--sync", "--onlyvisible", "--name", f"^{name} ", "getwindowname")
        title = (found.output or "none").split(" (")[0]
        yield f"window after the {name} URL", f"{name} grüß.txt, {path}", f"{title}, {path_of(run)}"
