"""Connects to a socket, and ends. A child keeps the connection: connect_and_leave.py SOCKET"""

import os, socket, sys

s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
if os.fork():
    os._exit(0)
s.recv(1)
