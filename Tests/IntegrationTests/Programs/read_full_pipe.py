#!/usr/bin/python3
"""Runs a program that writes into a small non-blocking pipe, and exits with the program's status.

    read_full_pipe.py PROGRAM [ARGUMENT...]

The pipe is read as soon as it is full. What the program has written goes to standard output.
"""
import array, fcntl, os, subprocess, sys, termios, time

reading, writing = os.pipe()
os.set_blocking(writing, False)
size = fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
program = subprocess.Popen(sys.argv[1:], stdout=writing)
os.close(writing)
filled = array.array("i", [0])
while program.poll() is None and filled[0] < size:
    time.sleep(0.01)
    fcntl.ioctl(reading, termios.FIONREAD, filled)
with open(reading, "rb") as output:
    sys.stdout.buffer.write(output.read())
sys.exit(program.wait())
