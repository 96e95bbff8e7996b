"""Opens pages and signs in, as programs in a container or on another machine do. sign_ins.py runs it there.

Each line of the input has a program that opens URLs, a URL, and a port. If the port is not 0, this program waits there for the callback.
For each line, it prints when it has begun, when the callback arrived, both in seconds since 1970, the program's exit status, and the
callback's path.
"""

import fcntl, http.server, os, socket, struct, subprocess, sys, time


class Callback(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.arrival = time.time(), self.path
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def start_loopback():
    """Starts the loopback device, which is down in a new network namespace."""
    with socket.socket() as device:
        flags = struct.unpack_from("h", fcntl.ioctl(device, 0x8913, struct.pack("16sh14x", b"lo", 0)), 16)[0]
        if not flags & 1:
            fcntl.ioctl(device, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))


start_loopback()
for line in sys.stdin:
    program, url, port = line.split()
    server = http.server.HTTPServer(("127.0.0.1", int(port)), Callback) if port != "0" else None
    begin = time.time()
    status = subprocess.run([os.path.expandvars(program), url]).returncode
    arrival = (0, "none")
    if server:
        server.timeout, server.arrival = 20, arrival
        server.handle_request()
        server.server_close()
        arrival = server.arrival
    print(begin, arrival[0], status, arrival[1], flush=True)
