import os, pty, signal, sys
steps = [step.split("=", 1) for step in sys.argv[1].split(";") if step]
child, terminal = pty.fork()
if child == 0:
    # The test itself may have been started in the background, where Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
while True:
    try:
        data = os.read(terminal, 4096)
    except OSError:
        break
    if not data:
        break
    seen += data
    sys.stdout.buffer.write(data)
    while steps and steps[0][0].encode() in seen:
        seen = seen.split(steps[0][0].encode(), 1)[1]
        os.write(terminal, steps.pop(0)[1].replace("^C", "\x03").encode())
status = os.waitpid(child, 0)[1]
end = "exit %d" % os.WEXITSTATUS(status) if os.WIFEXITED(status) else "signal %d" % os.WTERMSIG(status)
sys.stdout.write("\n" + end)
