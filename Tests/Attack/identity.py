"""A program poses as a handler towards another handler, which takes URLs from that handler alone."""

import json, os, shlex, signal, subprocess
import sandboxes
from attack import *

VAULT = "com.example.vault"


def vault(session, victim="swift", *behaviour):
    """Begins the session with a victim, and with a handler that takes URLs from the victim alone."""
    session.begin()
    handler = getattr(session, victim)(VICTIM, SCHEME, *behaviour)
    session.vault = session.python(VAULT, "vault", OUAllowedSources=[VICTIM])
    return handler


def result(session, facts, wait=0):
    got = wait_until(lambda: session.vault.urls(), wait) if wait else session.vault.urls()
    return bool(got), f"{facts}, the other handler took {len(session.vault.urls())} URLs as the victim's"


def attacker(session, code, *arguments, environment={}, program=PYTHON):
    """Runs Python code of the attacker. `victim` starts the victim's own program in the place of the process."""
    victim = [f"{session.programs}/testhandler", "com.example.nobody", f"{session.root}/nobody.log"]
    head = (f"import sys, os, time, signal\nsys.path.insert(0, {HERE!r})\nfrom bus import *\n"
            f"def victim(): os.execv({victim[0]!r}, {victim!r})\n"
            "def runs(pid): return os.readlink(f'/proc/{pid}/exe').endswith('testhandler')\n"
            "def adopt(bus):\n"
            "    other = Bus()\n"
            "    other.begin(ROUTER, 'OpenURL', 'sa{sv}', ['victim:?adopt', {}])\n"
            "    try:\n"
            "        while (call := bus.receive(8)).member != 'Open': pass\n"
            "        bus.reply(call, 'ba{sv}a(stb)', [True, {}, []])\n"
            "        other.receive(5)\n"
            "    except NoAnswer: pass\n"
            "def steal(bus):\n"
            "    try: bus.open('vault:evil', wait=10); print('answered', flush=True)\n"
            "    except (BusError, NoAnswer) as error: print(getattr(error, 'short', error), flush=True)\n")
    return session.run(program, "-c", head + code, *arguments, environment=environment, limit=20)


@attack("identity", "sends as itself (the check of the attacks themselves)")
def itself(session):
    vault(session)
    run = attacker(session, "steal(Bus())")
    return result(session, run.output.strip())


@attack("identity", "stays out although the victim may send (the check of the attacks themselves)")
def control(session):
    handler = vault(session, "swift", "forward=vault:good")
    handler.open()
    return not session.vault.urls(), f"the other handler took {len(session.vault.urls())} URLs of the victim"


EXEC = """
bus, first = Bus(), os.getpid()
bus.own('NAME')
if os.fork(): victim()
while not runs(first): time.sleep(0.01)
adopt(bus)
steal(bus)
os.kill(first, signal.SIGKILL)
"""


@attack("identity", "connects, and then executes the handler's program in the process of the connection")
def exec_after(session):
    vault(session)
    run = attacker(session, EXEC.replace("NAME", "com.example.other").replace("adopt(bus)", ""))
    return result(session, run.output.strip())


@attack("identity", "takes the handler's name, executes the handler's program, and is adopted")
def exec_named(session):
    vault(session)
    run = attacker(session, EXEC.replace("NAME", VICTIM))
    return result(session, run.output.strip())


@attack("identity", "executes the handler's program while the handler runs")
def exec_running(session):
    vault(session).start()
    run = attacker(session, EXEC.replace("NAME", VICTIM))
    return result(session, run.output.strip())


@attack("identity", "executes the handler's program, and is there when the router starts again")
def exec_restart(session):
    vault(session)
    router = session.router
    session.environment["ROUTER"] = str(router)
    run = attacker(session, EXEC.replace("NAME", VICTIM).replace("adopt(bus)", "os.kill(int(os.environ['ROUTER']), 9)\nadopt(bus)"))
    return result(session, run.output.strip())


@attack("identity", "runs the handler's program with other arguments")
def own_arguments(session):
    vault(session)
    session.start(f"{session.programs}/testhandler", "com.example.nobody", f"{session.root}/nobody.log",
                  "forward=vault:evil")
    wait_until(lambda: session.owner("com.example.nobody"))
    said = attempt(lambda: session.bus.call("org.openurl.Handler1", "Open", "sa{sv}", ["x:", {}], "com.example.nobody",
                                            "/com/example/nobody", wait=15))
    return result(session, f"Open: {said}")


@attack("identity", "runs the handler's program with a library of its own")
def preload(session):
    vault(session, "python")
    os.mkdir(f"{session.root}/evil")
    with open(f"{session.root}/evil/sitecustomize.py", "w") as file:
        file.write(f"import sys; sys.path.insert(0, {HERE!r}); from bus import *\n"
                   f"bus, other = Bus(), Bus()\nbus.own({VICTIM!r})\n"
                   f"other.begin(ROUTER, 'OpenURL', 'sa{{sv}}', ['{SCHEME}:?adopt', {{}}])\n"
                   "try:\n"
                   "    while (call := bus.receive(8)).member != 'Open': pass\n"
                   "    bus.reply(call, 'ba{sv}a(stb)', [True, {}, []])\n"
                   "    other.receive(5)\n"
                   "except NoAnswer: pass\n"
                   "try: bus.open('vault:evil', wait=10); print('answered', flush=True)\n"
                   "except (BusError, NoAnswer) as error: print(getattr(error, 'short', error), flush=True)\n"
                   "os._exit(0)\n")
    run = session.run(PYTHON, f"{HERE}/handler.py", VICTIM, "/dev/null",
                      environment={"PYTHONPATH": f"{session.root}/evil"}, limit=20)
    return result(session, run.output.strip())


@attack("identity", "runs another script with the interpreter of the handler")
def interpreter(session):
    vault(session, "python")
    run = attacker(session, f"bus = Bus()\nbus.own({VICTIM!r})\nadopt(bus)\nsteal(bus)", program="/usr/bin/python3.11" if os.path.exists("/usr/bin/python3.11") else PYTHON)
    return result(session, run.output.strip())


@attack("identity", "writes the script of the handler over its own arguments")
def arguments(session):
    vault(session, "python")
    code = """
import ctypes
script = sys.argv[1].encode()
stat = open('/proc/self/stat').read().rpartition(')')[2].split()
start, end = int(stat[45]), int(stat[46])
text = (b'/usr/bin/python3\\0' + script + b'\\0').ljust(end - start, b'\\0')[:end - start]
ctypes.memmove(start, text, len(text))
bus = Bus()
bus.own('com.example.victim')
adopt(bus)
steal(bus)
"""
    run = attacker(session, code, f"{HERE}/handler.py", "padding" * 20)
    return result(session, run.output.strip() or run.errors[-100:])


@attack("identity", "starts `openurl`, and executes the handler's program as the parent of `openurl`")
def parent(session):
    vault(session)
    run = attacker(session, """
first = os.getpid()
if os.fork(): victim()
while not runs(first): time.sleep(0.01)
read, write = os.pipe()
child = os.fork()
if child == 0: os.execvp('openurl', ['openurl', 'vault:evil'])
print(os.waitpid(child, 0)[1] >> 8, flush=True)
os.kill(first, signal.SIGKILL)
""")
    direct = result(session, run.output.strip())
    run = attacker(session, """
first = os.getpid()
if os.fork(): victim()
while not runs(first): time.sleep(0.01)
child = os.getpid()
if os.fork(): os.execvp('openurl', ['openurl', 'vault:evil'])
while os.getppid() == child: time.sleep(0.01)
os.kill(first, signal.SIGKILL)
""")
    return result(session, f"{direct[1].split(',')[0]}, {short(run.errors.strip() or run, 60)}", 2)


@attack("identity", "takes the handler's name and sends a URL")
def name_owner(session):
    vault(session)
    run = attacker(session, f"bus = Bus()\nbus.own({VICTIM!r})\nsteal(bus)")
    return result(session, run.output.strip())


@attack("identity", "takes the handler's name, lets the router adopt it, and sends a URL")
def adopted(session):
    handler = vault(session)
    squatter = session.squatter(VICTIM, "forward=vault:evil")
    handler.open("?adopt")
    squatter.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: any(line.startswith("forwarded") for line in squatter.events()), 5)
    return result(session, next((line for line in squatter.events() if line.startswith("forwarded")), "no answer"))


@attack("identity", "poses as another handler, as a handler")
def other_handler(session):
    vault(session)
    session.python("com.example.bad", "bad", f"take={VICTIM}", "forward=vault:evil").start()
    os.kill(int(lines(f"{session.root}/com.example.bad.log")[0].split()[1]), signal.SIGUSR1)
    wait_until(lambda: any(line.startswith("forwarded") for line in lines(f"{session.root}/com.example.bad.log")), 5)
    return result(session, "sent")


@attack("identity", "copies the handler's program")
def copy(session):
    vault(session)
    path = f"{session.root}/testhandler"
    subprocess.run(["cp", f"{session.programs}/testhandler", path], check=True)
    log = f"{session.root}/nobody.log"
    session.start(path, "com.example.nobody", log, "forward=vault:evil")
    wait_until(lambda: session.owner("com.example.nobody"))
    said = attempt(lambda: session.bus.call("org.openurl.Handler1", "Open", "sa{sv}", ["x:", {}], "com.example.nobody",
                                            "/com/example/nobody", wait=15))
    return result(session, f"Open: {said}")


@attack("identity", "names itself in the options of OpenURL")
def options(session):
    vault(session)
    said = attempt(lambda: session.bus.open("vault:evil", {
        "source-application": ("s", VICTIM), "source": ("a{sv}", {"pid": ("u", 1)}), "desktop-entry": ("s", f"{VICTIM}.desktop"),
        "hops": ("u", 1), "application": ("s", VICTIM)}))
    return result(session, said)


@attack("identity", "lets the victim's own entry for the desktop send the URL")
def entry(session):
    vault(session)
    run = session.run("openurl", "--desktop-entry", f"{VICTIM}.desktop", "vault:evil")
    return result(session, run)


# Numbers of processes that come again


def in_namespace(session, scenario):
    """Runs a scenario of `pid_reuse.py` where the next number of a process can be chosen. Returns the line that it prints."""
    if os.getuid() != 0 and not os.path.exists("/proc/self/ns/user"):
        raise Skip("there are no namespaces")
    command = ["unshare", *([] if os.getuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork", "--mount-proc",
               "--kill-child"]
    run = session.run(*command, PYTHON, f"{HERE}/pid_reuse.py", scenario, session.programs, session.prefix,
                      f"{session.root}/inside", limit=25)
    if run.status != 0:
        raise RuntimeError(f"{run} {run.errors[-300:]}")
    return run.output.strip().splitlines()[-1]


@attack("identity", "keeps a connection whose process has exited, until the handler gets the number of the process")
def pid_reuse(session):
    facts = in_namespace(session, "connection")
    return facts.startswith("HARM"), facts.partition(" ")[2]


@attack("identity", "gets the number of a handler that has ended")
def pid_of_handler(session):
    facts = in_namespace(session, "handler")
    return facts.startswith("HARM"), facts.partition(" ")[2]


@attack("identity", "gets the number of a handler that has ended while no router ran")
def pid_of_record(session):
    facts = in_namespace(session, "record")
    return facts.startswith("HARM"), facts.partition(" ")[2]


def started(session, id, scheme, *requests):
    """Registers a handler that starts a Flatpak, as a file manager does, and lets the Flatpak make calls. Returns the handler and
    the answers."""
    info, proxy, script = f"{session.root}/info", f"{session.root}/run/started", f"{session.root}/start"
    asked, answers = f"{session.root}/asked", f"{session.root}/answers"
    with open(info, "w") as file:
        file.write(sandboxes.INFO)
    with open(asked, "w") as file:
        file.writelines(json.dumps(request) + "\n" for request in requests)
    base = sandboxes.bwrap(session, 9)
    run, address = f"{session.root}/run", session.environment["DBUS_SESSION_BUS_ADDRESS"]
    filtering = shlex.join([*base, "--bind", run, run, "xdg-dbus-proxy", "--fd=8", address, proxy, "--filter",
                            f"--talk={ROUTER}"])
    calling = shlex.join([*base, "--unshare-user", "--unshare-pid", "--bind", proxy, "/bus", "--setenv",
                          "DBUS_SESSION_BUS_ADDRESS", "unix:path=/bus", PYTHON, "-B", f"{HERE}/client.py"])
    with open(script, "w") as file:
        file.write(f"mkfifo {script}.ready\n{filtering} 9<{info} 8<>{script}.ready &\n"
                   f"head -c 1 {script}.ready >/dev/null\n{calling} 9<{info} <{asked} >{answers}\n")
    handler = session.python(id, scheme, f"spawn={script}")
    run = session.run("openurl", "activate", id)
    if run.status != 0:
        raise RuntimeError(f"openurl activate: {run} {run.errors}")
    if not wait_until(lambda: len(lines(answers)) == len(requests), 20):
        raise RuntimeError(f"the Flatpak makes no calls: {lines(answers)} {session.log_text()[-300:]}")
    return handler, [json.loads(line) for line in lines(answers)]


def call(interface, member, signature, *body):
    return {"do": "call", "interface": interface, "member": member, "signature": signature, "body": body}


@attack("identity", "is a Flatpak that a handler has started, and poses as the handler")
def child(session):
    session.begin()
    victim = session.python(OUAllowedSources=["com.example.launcher"])
    deny = session.run("openurl", "policy", "deny", "--source", sandboxes.APPLICATION, "other")
    other = session.python("com.example.other", "other")
    if deny.status != 0:
        raise RuntimeError(f"openurl policy: {deny} {deny.errors}")
    handler, answers = started(
        session, "com.example.launcher", "launcher", call(ROUTER, "OpenURL", "sa{sv}", f"{SCHEME}:?evil", {}),
        call(ROUTER, "OpenURL", "sa{sv}", "other:?evil", {}),
        call("org.openurl.Callbacks1", "Request", "ssa{sv}", "", "launcher", {}),
        call(LIFECYCLE, "List", ""))
    seen = "com.example.launcher" in json.dumps(answers[3])
    harm = victim.urls() or other.urls() or "ok" in answers[2] or seen
    return bool(harm), (f"OpenURL: {said(answers[0])}, {said(answers[1])}, Request: {said(answers[2])}, "
                        f"sees the handler: {seen}")
