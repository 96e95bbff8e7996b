"""Connects to a socket as another user, and prints how many bytes come at most before the end: connect_as_nobody.py SOCKET"""

import os, socket, sys

os.setuid(65534)
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.settimeout(30)
print(len(s.recv(1)))
