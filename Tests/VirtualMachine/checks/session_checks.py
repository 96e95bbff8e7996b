"""The checks of a login session: what openurl promises where systemd manages the session."""

import json
import os
import re
import signal
import time

import program_checks
import time_checks
from machine import BUS_DAEMON, NO_DATA, ROUTER, Checks, Session, cgroup, environment, expect, run, service, status, wait_for

# Variables for a single process (systemd.exec(5), sd_notify(3)).
PERSONAL = {"INVOCATION_ID", "JOURNAL_STREAM", "LISTEN_FDS", "MAINPID", "MANAGERPID", "NOTIFY_SOCKET", "SYSTEMD_EXEC_PID"}


def run_all(name, user):
    check = Checks(name)
    first_click(check, user)
    session = Session.of_new_user(user)
    activation(check, session)
    services(check, session)
    journal(check, session)
    end_with_an_open_in_flight(check, session)
    restart(check, session)
    suspension(check, session)
    time_checks.run_all(check, session)
    late_environment(check, session)
    program_checks.run_all(check, session)
    confinement(check, session)
    logout(check, session)


def first_click(check, user):
    @check("first click of a new user, xdg-open")
    def _():
        session = Session.of_new_user(f"{user}-x")
        answer = session.run("xdg-open", "todolist:?First%20click", DISPLAY=":0")
        items = session.run("todolist", "list").stdout.strip()
        expect("First click" in items, f"status {answer.returncode}, {answer.stderr.strip()}, todolist has '{items}'")
        return items

    @check("first click of a new user, gio open")
    def _():
        session = Session.of_new_user(f"{user}-g")
        answer = session.run("gio", "open", "todolist:?First%20click")
        items = session.run("todolist", "list").stdout.strip()
        expect("First click" in items, f"status {answer.returncode}, {answer.stderr.strip()}, todolist has '{items}'")
        return items


def activation(check, session):
    @check("activation: the first call starts the router's unit")
    def _():
        expect(session.property("openurld.service", "ActiveState") == "inactive", "the router runs already")
        session.open("todolist:?Milk")
        pid = session.router()
        expect(cgroup(pid).endswith("/openurld.service"), cgroup(pid))
        return f"process {pid} in openurld.service"

    @check("activation: a call of a handler's own name starts the handler")
    def _():
        id = session.register("called")
        answer = session.run(
            "gdbus", "call", "--session", "--timeout=60", f"--dest={id}", "--object-path=/com/example/called",
            "--method=org.freedesktop.Application.Open", "['called:1']", NO_DATA)
        wait_for(lambda: "open called:1" in session.events(id), f"{answer.stdout}{answer.stderr}", seconds=10)
        return service(session.owner(id))

    @check("activation: a bus without systemd starts the router")
    def _():
        owner = f"busctl --user --json=short call {' '.join(BUS_DAEMON)} GetConnectionUnixProcessID s {ROUTER}"
        script = f"openurl 'todolist:?Plain' && {owner}"
        answer = session.run("dbus-run-session", "--", "bash", "-c", script)
        expect(answer.returncode == 0, answer.stdout + answer.stderr)
        pid = json.loads(answer.stdout)["data"][0]
        expect(pid != session.router(), "the router of the session got the call")
        return f"process {pid}"


def services(check, session):
    @check("service of a handler")
    def _():
        id = session.register("scoped")
        pid = session.open("scoped:1")["reply"]["pid"]
        name = service(pid)
        expect(name.startswith(f"app-openurl-{id}-"), name)
        expect(f"/app.slice/{name}" in cgroup(pid), cgroup(pid))
        return name

    @check("service ends with its handler")
    def _():
        name = service(session.handler("com.example.scoped")["pid"])
        session.run("openurl", "terminate", "com.example.scoped")
        wait_for(lambda: session.property(name, "LoadState") == "not-found", f"{name} has gone")
        return f"{name} has gone"

    @check("service of an application's command")
    def _():
        entry = """[Desktop Entry]
Type=Application
Name=Viewer
Exec=sh -c "exec sleep 71"
MimeType=x-scheme-handler/viewed;
"""
        session.write(session.home / ".local/share/applications/viewer.desktop", entry)
        wait_for(lambda: session.run("openurl", "can-open", "viewed:1").returncode == 0, "the router knows the application")
        session.open("viewed:1")
        pid = int(session.run("pgrep", "-f", "^sleep 71").stdout)
        name = service(pid)
        os.kill(pid, signal.SIGTERM)
        expect(name.startswith("app-openurl-viewer-"), name)
        return name

    @check("service: arguments, variables and the working directory arrive unchanged")
    def _():
        words = ["$HOME", "${USER}", "%h", r"\x41", "a b", ";", "@-+!", ""]
        script = 'for each; do echo "<$each>"; done; echo "$MARK $PWD [$INVOCATION_ID]"; readlink /proc/self/fd/0; exit 3'
        id = session.register("exact", program="/bin/sh", OUArguments=["-c", script, "sh", *words],
                              OUEnvironment={"MARK": "$HOME %h"})
        session.run("openurl", "exact:1")
        lines = [entry["MESSAGE"] for entry in session.journal(f"--identifier={id}")]
        expect(lines == [*(f"<{word}>" for word in words), f"$HOME %h {session.home} []", "/dev/null"], lines)
        return lines

    @check("service: a file that the kernel does not execute")
    def _():
        program = session.home / "text"
        session.write(program, "no program\n")
        program.chmod(0o755)
        session.register("text", program=str(program))
        answer = session.run("openurl", "text:1")
        expect(answer.returncode == 4, f"status {answer.returncode}, {answer.stderr.strip()}")
        return f"status 4, {answer.stderr.strip()}"

    @check("service: a descendant outlives the handler's command")
    def _():
        session.register("parent", program="/bin/sh", OUArguments=["-c", "sleep 72 & exit 0"])
        session.run("openurl", "parent:1")
        pid = int(session.run("pgrep", "-f", "^sleep 72").stdout)
        name = service(pid)
        expect(session.property(name, "ActiveState") == "active", session.property(name, "ActiveState"))
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: session.property(name, "LoadState") == "not-found", f"{name} has gone")
        return name

    @check("limits of a drop-in count after daemon-reload")
    def _():
        limits = session.home / ".config/systemd/user/app-openurl-.service.d/limits.conf"
        session.write(limits, "[Service]\nMemoryMax=100M\nMemorySwapMax=0\n")
        session.run("systemctl", "--user", "daemon-reload")
        session.register("limited")
        name = service(session.open("limited:1")["reply"]["pid"])
        limit = session.property(name, "MemoryMax")
        expect(limit == str(100 << 20), f"MemoryMax of {name}: {limit}")
        return f"MemoryMax of {name}: {limit}"

    @check("limits: a handler beyond its memory ends, and the router does not")
    def _():
        before = session.router()
        script = "exec python3 -c 'bytearray(b\"x\") * (300 << 20)'"
        session.register("greedy", program="/bin/sh", OUArguments=["-c", script])
        answer = session.run("openurl", "--timeout=60s", "greedy:1")
        expect(answer.returncode == 4, f"status {answer.returncode}, {answer.stderr.strip()}")
        expect(session.router() == before, "the router was replaced")
        limits = session.home / ".config/systemd/user/app-openurl-.service.d/limits.conf"
        limits.unlink()
        session.run("systemctl", "--user", "daemon-reload")
        return f"status 4, {answer.stderr.strip()}"


def journal(check, session):
    session.register("loud", program="/bin/sh", OUArguments=["-c", "echo '<3>an error'; echo a line; exit 3"])
    session.run("openurl", "loud:1")

    @check("journal: the output of a handler under its identifier, with priorities")
    def _():
        lines = {(entry["MESSAGE"], entry["PRIORITY"]) for entry in session.journal("--identifier=com.example.loud")}
        expect({("an error", "3"), ("a line", "6")} <= lines, lines)
        return sorted(lines)

    @check("journal: a warning of the router has priority 4 and no time stamp")
    def _():
        entries = session.journal("--identifier=openurld")
        warnings = {(entry["PRIORITY"], entry["MESSAGE"]) for entry in entries
                    if "com.example.loud exited with status 3 before it was ready" in entry["MESSAGE"]}
        stamped = [entry["MESSAGE"] for entry in entries if re.match(r"\d{4}-", entry["MESSAGE"])]
        expect({priority for priority, _ in warnings} == {"4"} and not stamped, f"{warnings}, {stamped[:1]}")
        return sorted(warnings)

    @check("journal: no message of a library at the start of a handler")
    def _():
        session.run("openurl", "terminate", "com.acme.todolist")
        session.open("todolist:?Quiet")
        handler = [entry["MESSAGE"] for entry in session.journal(f"_PID={session.owner('com.acme.todolist')}")]
        router = [entry["MESSAGE"] for entry in session.journal(f"_PID={session.router()}") if "thread" in entry["MESSAGE"]]
        expect(not handler + router, handler + router)
        return "no message"


def end_with_an_open_in_flight(check, session):
    def open_while_ending(scheme, end):
        id = session.register(scheme, "startDelay=3000")
        router = session.router()
        caller = session.start("openurl", f"{scheme}:1")
        wait_for(lambda: session.events(id), "the handler starts")
        end(router)
        output, _ = caller.communicate(timeout=60)
        wait_for(lambda: status(router, "State") is None, "the router has ended")
        wait_for(lambda: session.property("openurld.service", "ActiveState") != "deactivating", "the unit has ended")
        state, result = (session.property("openurld.service", name) for name in ["ActiveState", "Result"])
        seen = f"openurl: {caller.returncode} {output.strip()}, unit: {state}, {result}"
        expect(caller.returncode == 0 and (state, result) == ("inactive", "success"), seen)
        return seen

    @check("SIGTERM with an open in flight")
    def _():
        return open_while_ending("slow", lambda router: os.kill(router, signal.SIGTERM))

    @check("systemctl stop with an open in flight")
    def _():
        return open_while_ending("slower", lambda _: session.run("systemctl", "--user", "stop", "openurld.service"))


def restart(check, session):
    def keeps_handler(scheme, end):
        id = session.register(scheme)
        pid = session.open(f"{scheme}:1")["reply"]["pid"]
        before = session.router()
        end(before)
        wait_for(lambda: session.owner(ROUTER) not in {0, before}, "there is another router")
        result = session.open(f"{scheme}:2")
        seen = f"router {before}, then {session.router()}; handler {pid}, then {result['reply']['pid']}, {result['way']}"
        expect(result["reply"]["pid"] == pid and result["way"] != "launched", seen)
        expect(session.handler(id)["pid"] == pid, session.handler(id))
        return seen

    @check("restart of the router keeps handlers")
    def _():
        return keeps_handler("kept", lambda _: session.run("systemctl", "--user", "restart", "openurld.service"))

    @check("kill -9 of the router keeps handlers")
    def _():
        return keeps_handler("left", lambda router: os.kill(router, signal.SIGKILL))

    @check("kill -9 of the router wakes a suspended handler, and keeps it")
    def _():
        def suspend_and_kill(router):
            answer = session.run("openurl", "suspend", "com.example.stopped")
            expect(answer.returncode == 0, answer.stderr)
            os.kill(router, signal.SIGKILL)

        return keeps_handler("stopped", suspend_and_kill)


def suspension(check, session):
    @check("suspension: a process in the background stops, and the next URL wakes it")
    def _():
        id = session.register("sleepy", OUSuspendDelay=0.1)
        pid = session.open("sleepy:1")["reply"]["pid"]
        session.run("openurl", "background", id)
        wait_for(lambda: status(pid, "State").startswith("T"), "the process is stopped")
        result = session.open("sleepy:2")
        expect(result["way"] == "woken" and result["reply"]["pid"] == pid, result)
        return f"{pid} was stopped, then {result['way']}"


def late_environment(check, session):
    def handler_environment(scheme):
        session.register(scheme)
        return environment(session.open(f"{scheme}:1")["reply"]["pid"])

    @check("environment: a variable that systemctl imports after the router's start")
    def _():
        expect("DISPLAY" not in environment(session.router()), "the router has DISPLAY")
        session.run("systemctl", "--user", "import-environment", "DISPLAY", DISPLAY=":7")
        display = handler_environment("imported").get("DISPLAY")
        expect(display == ":7", f"DISPLAY: {display}")
        return f"DISPLAY={display}"

    @check("environment: a variable of dbus-update-activation-environment --systemd")
    def _():
        session.run("dbus-update-activation-environment", "--systemd", "WAYLAND_DISPLAY=wayland-7")
        display = handler_environment("updated").get("WAYLAND_DISPLAY")
        expect(display == "wayland-7", f"WAYLAND_DISPLAY: {display}")
        return f"WAYLAND_DISPLAY={display}"

    @check("environment: the command of an application gets it too")
    def _():
        session.open("viewed:2")
        pid = int(session.run("pgrep", "-f", "^sleep 71").stdout)
        display = environment(pid).get("WAYLAND_DISPLAY")
        os.kill(pid, signal.SIGTERM)
        expect(display == "wayland-7", f"WAYLAND_DISPLAY: {display}")
        return f"WAYLAND_DISPLAY={display}"

    @check("environment: a variable that was taken back")
    def _():
        session.run("systemctl", "--user", "unset-environment", "DISPLAY", "WAYLAND_DISPLAY")
        left = {"DISPLAY", "WAYLAND_DISPLAY"} & set(handler_environment("unset"))
        expect(not left, left)
        return "neither DISPLAY nor WAYLAND_DISPLAY"

    @check("environment: nothing of the router's own unit")
    def _():
        left = PERSONAL & set(handler_environment("clean"))
        expect(not left, left)
        return f"none of {', '.join(sorted(PERSONAL))}"

    @check("environment: without systemd, the display of the caller")
    def _():
        session.register("shown")
        script = "openurl can-open shown:1 >/dev/null && DISPLAY=:9 openurl --json shown:1"
        answer = session.run("dbus-run-session", "--", "bash", "-c", script)
        expect(answer.returncode == 0, answer.stdout + answer.stderr)
        variables = json.loads(answer.stdout)["reply"]["environment"]
        expect("DISPLAY=:9" in variables, [each for each in variables if "DISPLAY" in each])
        return "DISPLAY=:9"


def confinement(check, session):
    @check("confinement: a handler has none that the session's other programs do not have")
    def _():
        session.register("free")
        pid = session.open("free:1")["reply"]["pid"]
        manager = int(run("systemctl", "show", "--value", "--property=MainPID", session.manager).stdout)
        keys = ["NoNewPrivs", "Seccomp", "CapBnd", "Umask"]
        handler, usual = ([status(process, key) for key in keys]
                          + [os.readlink(f"/proc/{process}/ns/{each}") for each in ["mnt", "user", "net"]]
                          for process in [pid, manager])
        expect(handler == usual, f"{handler}, the manager has {usual}")
        return dict(zip(keys, handler))

    @check("confinement: the router has the rules of its unit, and the view of the session")
    def _():
        pid = session.router()
        manager = int(run("systemctl", "show", "--value", "--property=MainPID", session.manager).stdout)
        rules = {key: status(pid, key) for key in ["NoNewPrivs", "Seccomp"]}
        expect(rules == {"NoNewPrivs": "1", "Seccomp": "2"}, rules)
        # In another namespace, the router could not tell which programs call it.
        views = [[os.readlink(f"/proc/{process}/ns/{each}") for each in ["mnt", "user"]] for process in [pid, manager]]
        expect(views[0] == views[1], views)
        answer = session.run("systemd-analyze", "--user", "security", "--no-pager", "openurld.service")
        return f"{rules}, {answer.stdout.splitlines()[-1].strip()}"

    @check("confinement: the router's rules refuse it nothing that it needs")
    def _():
        refused = [entry["MESSAGE"] for entry in session.journal("--identifier=openurld")
                   if "not permitted" in entry["MESSAGE"]]
        expect(not refused, refused)
        return "no operation was refused"


def logout(check, session):
    session.register("stated", "state=the saved text")
    session.register("dozing", "state=the dozing text")
    session.register("queued", "startDelay=4000")

    @check("logout: the router ends in order, and the bus after it", seconds=180)
    def _():
        session.open("stated:1")
        session.open("dozing:1")
        expect(session.run("openurl", "suspend", "com.example.dozing").returncode == 0, "the handler cannot be suspended")
        session.run("openurl", "--queue", "queued:1")
        wait_for(lambda: session.events("com.example.queued"), "the handler of the queued URL starts")
        router = session.router()
        start = int(time.time())
        session.log_out()
        entries = [entry["MESSAGE"] for entry in session.journal(f"_PID={router}")]
        wrong = [text for text in entries if "bus has ended" in text or "was not delivered" in text]
        expect(not wrong, wrong)
        failures = [entry["MESSAGE"] for entry in session.journal(f"--since=@{start}")
                    if "Failed with result" in entry["MESSAGE"] and entry.get("USER_UNIT") == "openurld.service"]
        expect(not failures, failures)
        return entries[-1]

    @check("logout: handlers end in order, also a suspended one")
    def _():
        def last():
            return {id: session.events(f"com.example.{id}")[-1] for id in ["stated", "dozing"]}

        # The services of the handlers end after the session.
        wait_for(lambda: set(last().values()) <= {"willTerminate"}, f"both handlers end in order: {last()}")
        return last()

    @check("logout: the next login delivers what is queued")
    def _():
        session.log_in()
        session.run("openurl", "status")
        wait_for(lambda: "open queued:1" in session.events("com.example.queued"), "the queued URL arrives", seconds=60)
        wait_for(lambda: not session.queue(), "the queue is empty")
        opened = session.events("com.example.queued").count("open queued:1")
        return f"delivered, {opened} time"

    @check("logout: the next launch restores the saved state")
    def _():
        for scheme in ["stated", "dozing"]:
            session.open(f"{scheme}:2")
            expect(f"restored the {'saved' if scheme == 'stated' else 'dozing'} text"
                   in session.events(f"com.example.{scheme}"), session.events(f"com.example.{scheme}"))
        return "both texts"


def prepare_reboot(name, user):
    """Leaves an enabled router, a saved state, and a URL in the queue whose handler cannot start yet."""
    session = Session(user)
    session.run("systemctl", "--user", "enable", "openurld.service")
    program = session.home / "later"
    session.write(program, "#!/bin/sh\n[ -e ~/ready ] && exec /usr/lib/openurl-checks/testhandler \"$@\"\nexit 1\n")
    program.chmod(0o755)
    log = str(session.log("com.example.later"))
    session.register("later", program=str(program), OUArguments=["com.example.later", log])
    session.register("rebooted", "state=the text of the last boot")

    @Checks(name)("reboot: a URL is queued, and a state is saved")
    def _():
        session.run("openurl", "--queue", "later:1")
        waiting = wait_for(lambda: [each for each in session.queue() if each["attempts"] >= 1], "the first attempt fails")
        session.open("rebooted:1")
        session.run("openurl", "background", "com.example.rebooted")
        return f"{waiting[0]['url']} after {waiting[0]['attempts']} attempt"

    @Checks(name)("reboot: reminders are scheduled, and one is removed")
    def _():
        time_checks.prepare_reboot(session)
        return [each["url"] for each in session.queue() if each["url"].startswith("reminded:")]


def run_after_reboot(name, user):
    session = Session(user)
    check = Checks(name)
    (session.home / "ready").touch()

    @check("the earlier router has ended in order")
    def _():
        boot = (session.home / "boot").read_text()
        entries = [entry["MESSAGE"] for entry in session.journal("--identifier=openurld", boot=boot)]
        wrong = [text for text in entries if "bus has ended" in text]
        expect(entries and not wrong, wrong)
        return entries[-1]

    time_checks.pass_time_while_off()

    @check("the enabled router runs from login")
    def _():
        session.log_in()
        return f"process {session.router()}"

    @check("the router delivers the queued URL")
    def _():
        wait_for(lambda: "open later:1" in session.events("com.example.later"), "the queued URL arrives", seconds=80)
        wait_for(lambda: not any(each["url"] == "later:1" for each in session.queue()), "the URL has left the queue")
        return "delivered"

    @check("the handler restores its state")
    def _():
        session.open("rebooted:2")
        expect("restored the text of the last boot" in session.events("com.example.rebooted"),
               session.events("com.example.rebooted"))
        return "restored the text of the last boot"

    time_checks.run_after_reboot(check, session)
