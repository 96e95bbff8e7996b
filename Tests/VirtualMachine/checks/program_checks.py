"""The checks of the programs that the router runs as services and talks to, and of the units beside the router's."""

import json
import os
import pathlib

from machine import expect, wait_for

# Each stands for a real program. It writes the name of its service, and what it reads from its standard input.
STAND_IN = """#!/bin/sh
exec 3>>{log}
echo "$(basename "$0") $(sed 's|.*/||' /proc/self/cgroup)" >&3
"""


def run_all(check, session):
    stand_ins = []
    log = session.home / "stand-ins"

    def stand_in(path, text):
        path = pathlib.Path(path)
        session.write(path, STAND_IN.format(log=log) + text)
        path.chmod(0o755)
        stand_ins.append(path)

    def seen(name):
        """The lines that a program has written: the name of its service, and then its input."""
        lines = log.read_text().splitlines()
        start = max(index for index, line in enumerate(lines) if line.startswith(f"{name} "))
        unit = lines[start].split()[1]
        expect(unit.startswith("app-openurl-") and unit.endswith(".service"), lines)
        return unit, lines[start + 1:]

    def restart(*assignments):
        """Starts a router that has variables of the session's manager."""
        verb = "set-environment" if assignments else "unset-environment"
        names = assignments or ["DISPLAY", "OPENURL_PROOFS"]
        session.run("systemctl", "--user", verb, *names)
        session.run("systemctl", "--user", "restart", "openurld.service")
        return session.router()

    @check("programs: ssh carries a request to another router, and its answer back")
    def _():
        far = session.home / "far"
        session.write(far / ".config/openurl/policy.conf", "allow far from host:near\n")
        manifest = f"{session.register('far')}.plist"
        session.write(far / ".local/share/openurl/handlers" / manifest, (session.home / "manifests" / manifest).read_text())
        stand_in("/usr/local/bin/ssh", f"""case "$*" in *away*) echo 'no route to away' >&2; exit 255;; esac
exec env HOME={far} XDG_RUNTIME_DIR={far} dbus-run-session -- openurl receive --from near
""")
        far.chmod(0o700)
        for name in ["box", "away"]:
            answer = session.run("openurl", "hosts", "add", name, name)
            expect(answer.returncode == 0, answer.stderr)
        sent = session.open("far:1", "--to=box")
        outcome = session.run("openurl", "queue", "wait", str(sent["id"]), "--json")
        expect(outcome.returncode == 0, f"{sent}, {outcome.stdout}{outcome.stderr}")
        unit, _ = seen("ssh")
        expect(unit.startswith("app-openurl-ssh-"), unit)
        # With the other router.
        session.run("systemctl", "--user", "stop", unit)
        return f"{unit}, {outcome.stdout.strip()}"

    @check("programs: ssh's own words")
    def _():
        session.open("far:2", "--to=away")

        def problem():
            hosts = [json.loads(line) for line in session.run("openurl", "hosts", "--json").stdout.splitlines()]
            return next((host.get("problem") for host in hosts if host["name"] == "away"), None)

        text = wait_for(problem, "the router knows why the host is not reached")
        expect(text == "ssh: no route to away", text)
        for url in session.queue(): session.run("openurl", "queue", "drop", str(url["id"]))
        for name in ["box", "away"]: session.run("openurl", "hosts", "remove", name)
        return text

    @check("programs: a dialog asks the user")
    def _():
        stand_in("/usr/local/bin/zenity", "readlink /proc/self/fd/0 >&3\necho Always open\nexit 1\n")
        restart("DISPLAY=:7")
        session.register("asked", OUAsk=True)
        session.open("asked:1")
        unit, lines = seen("zenity")
        expect(lines[:1] == ["/dev/null"], lines)
        return unit

    @check("programs: the chooser reads its question and answers")
    def _():
        router = pathlib.Path(os.readlink(f"/proc/{session.router()}/exe"))
        stand_in(router.with_name("openurl-chooser"), "cat >&3\nprintf '[Choice]\\nCandidate=1\\n'\n")
        browser = session.home / "browser"
        stand_in(browser, "echo $1 >&3\n")
        entry = f"[Desktop Entry]\nType=Application\nName=Browser\nExec={browser} %u\n"
        entry += "MimeType=x-scheme-handler/http;x-scheme-handler/https;text/html;\n"
        application = session.home / ".local/share/applications/browser.desktop"
        session.write(application, entry)
        stand_ins.append(application)
        session.write(session.home / ".config/openurl/links.conf", "open *://chosen.example with chooser\n")

        def is_asked():
            # The router may not have read the rule or the entry yet.
            session.run("openurl", "https://chosen.example/")
            return "openurl-chooser " in log.read_text()

        wait_for(is_asked, "the chooser is started")
        unit, lines = seen("openurl-chooser")
        expect(lines[:2] == ["[Link]", "URL=https://chosen.example/"], lines)
        wait_for(lambda: log.read_text().count("\nhttps://chosen.example/\n"), f"the browser gets the link: {log.read_text()}")
        return f"{unit}, then the browser in {seen('browser')[0]}"

    @check("programs: the program that asks sites")
    def _():
        id = "com.example.proven"
        answer = f"openurl-proofs 1\\nhost proven.example\\nfile\\napp {id}\\n+ /*\\nend\\n"
        program = session.home / "asker"
        stand_in(program, f"printf '{answer}'\n")
        restart(f"OPENURL_PROOFS={program}")
        session.register("proven", OUAssociatedDomains=["proven.example"])
        session.run("openurl", "links", "ask")
        wait_for(lambda: session.run("openurl", "links", "proofs").stdout.count("site"), "the site's proof")
        result = session.open("https://proven.example/a")
        expect(result["handler"] == id, result)
        return f"{seen('asker')[0]}, {result['handler']}"

    for path in stand_ins: path.unlink(missing_ok=True)
    restart()

    @check("unit of a share: a container's program opens a link here")
    def _():
        session.run("openurl", "policy", "allow", "--source", "container:box", "scoped")
        answer = session.run("systemctl", "--user", "start", "openurl-share@box.service")
        expect(answer.returncode == 0, answer.stderr)
        directory = session.runtime / "openurl/shares/box"
        wait_for(lambda: (directory / "socket").exists(), "the share is there")
        opened = session.run(str(directory / "openurl-remote"), "scoped:from-the-share")
        expect(opened.returncode == 0, f"{opened.returncode}: {opened.stderr}")
        session.run("systemctl", "--user", "stop", "openurl-share@box.service")
        state = session.property("openurl-share@box.service", "Result")
        expect(state == "success" and not (directory / "socket").exists(), f"{state}, {list(directory.iterdir())}")
        return "opened, and stopped in order"
