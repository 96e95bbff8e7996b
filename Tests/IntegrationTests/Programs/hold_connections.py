import os, socket, sys
kept = []
for _ in range(1000):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    try:
        connection.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        if not connection.recv(100).startswith(b"OK"):
            break
        connection.sendall(b"BEGIN\r\n")
    except (BrokenPipeError, ConnectionResetError):
        break
    kept.append(connection)
sys.stdout.write(f"{len(kept)}\n")
sys.stdout.flush()
sys.stdin.read()
