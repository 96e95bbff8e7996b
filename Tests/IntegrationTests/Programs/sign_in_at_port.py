#!/usr/bin/python3
"""Signs in as many commands do: waits at a fixed port, opens the browser, and prints the callback.

    sign_in_at_port.py PORT [REDIRECTION]

The redirection is one of the shell, for the command that opens the browser.
"""
import fcntl, http.server, socket, struct, subprocess, sys

# The loopback device of a new network namespace is down.
with socket.socket() as device:
    flags = struct.unpack_from("h", fcntl.ioctl(device, 0x8913, struct.pack("16sh14x", b"lo", 0)), 16)[0]
    fcntl.ioctl(device, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.headers["Host"], self.path, flush=True)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


port = int(sys.argv[1])
server = http.server.HTTPServer(("127.0.0.1", port), Handler)
server.timeout = 60
url = f"https://sign-in.example/?redirect_uri=http%3A%2F%2Flocalhost%3A{port}%2Fdone&state=s1"
subprocess.run(["sh", "-c", f'exec "$BROWSER" "$0" {" ".join(sys.argv[2:])}', url], check=True)
server.handle_request()
