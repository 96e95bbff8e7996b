import signal, subprocess, sys
# The test itself may have been started in the background, where Ctrl-C is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_SETMASK, [])
run = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE)
run.stderr.readline()
run.send_signal(signal.SIGINT)
print(run.wait())
