import os, socket, sys
os.unlink(sys.argv[1])
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(0)
kept = []
try:
    while True:
        kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
        kept[-1].connect(sys.argv[1])
except BlockingIOError:
    print("full", flush=True)
sys.stdin.read()
