#!/usr/bin/python3
"""Passes one line on to a socket, and prints what comes back."""
import socket, sys
relay = socket.socket(socket.AF_UNIX)
relay.connect(sys.argv[1])
try:
    relay.sendall(sys.stdin.buffer.readline())
    while data := relay.recv(65536):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
except ConnectionError:
    pass
