"""The processes that a check starts. All of them stay descendants of the runner, even after their parents have ended."""

import ctypes, os, signal, time

PR_SET_CHILD_SUBREAPER = 36
GRACE = 5  # seconds that a process gets between SIGTERM and SIGKILL


def adopt_orphans():
    """Makes this program the parent of its descendants whose parents end. Returns the reason if that is impossible."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        return os.strerror(ctypes.get_errno())
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    return None


def descendants(of=None):
    """Returns the processes that descend from this program, or from another one."""
    parents = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat", errors="replace") as file:
                parents[int(number)] = int(file.read().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found, level = set(), {of or os.getpid()}
    while level:
        level = {process for process, parent in parents.items() if parent in level}
        found |= level
    return found


def end_descendants(grace=GRACE):
    """Ends every process that a check has left, with SIGTERM and then with SIGKILL."""
    for number in [signal.SIGTERM, signal.SIGKILL]:
        end = time.monotonic() + grace
        signalled = set()
        while time.monotonic() < end:
            left = descendants()
            if not left:
                return
            for process in left - signalled:
                try:
                    os.kill(process, number)
                    # A process that its handler or a debugger has stopped takes no signal.
                    os.kill(process, signal.SIGCONT)
                except ProcessLookupError:
                    pass
            signalled |= left
            reap()
            signal.sigtimedwait([signal.SIGCHLD], 0.05)


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
