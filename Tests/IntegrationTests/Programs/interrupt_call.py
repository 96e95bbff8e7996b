import os, signal, subprocess, sys
# The test itself may have been started in the background, where Ctrl-C is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
# The log of the handler is a pipe. This process can write to the pipe too, so the pipe does not end between two lines.
os.mkfifo(sys.argv[1])
events = os.fdopen(os.open(sys.argv[1], os.O_RDWR))
run = subprocess.Popen(sys.argv[2:])
next(event for event in events if event.startswith("open "))
run.send_signal(signal.SIGINT)
print(run.wait())
