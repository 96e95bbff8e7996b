#!/usr/bin/python3
"""Runs a program with a relay that gives one answer, and exits with the program's status.

    answer_as_relay.py ANSWER PROGRAM [ARGUMENT...]

The program finds the relay's socket as `openurl-remote` does. The connection stays open until the program has exited.
"""
import os, socket, subprocess, sys, tempfile, threading

connections = []


def answer(listener):
    connection, _ = listener.accept()
    connections.append(connection)
    connection.makefile("rb").readline()
    connection.sendall(os.fsencode(sys.argv[1]) + b"\n")


with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
    listener.bind(f"{directory}/socket")
    listener.listen()
    threading.Thread(target=answer, args=[listener], daemon=True).start()
    environment = {**os.environ, "OPENURL_SOCKET": f"{directory}/socket"}
    status = subprocess.run(sys.argv[2:], env=environment).returncode
sys.exit(status)
