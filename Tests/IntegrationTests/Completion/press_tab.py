#!/usr/bin/env python3
"""Types command lines of openurl in a shell on a terminal, and prints the arguments that openurl gets, as JSON.

Usage: press_tab.py SHELL OPENURL DIRECTORY LINE ...
    SHELL        bash, zsh or fish
    OPENURL      the program, which completes and prints the shell's script
    DIRECTORY    the working directory of the shell
    LINE         the keys, such as $'openurl open a\\t'; Enter follows

With a file in the environment variable ANSWER, the shell gets its text as the answer to every question for completions.
The shell's own files are in a directory of their own, which is removed. Each step ends within a minute, or the program fails.
"""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 60
PROMPT = "ready for a line>"
RECORDED = "the line is recorded"

# Answers the shell's questions, and records the arguments of a line.
STAND_IN = """#!/bin/sh
if [ "$1" = __complete ]; then
    [ -z "$ANSWER" ] || exec cat "$ANSWER"
    exec "$OPENURL" "$@"
fi
printf '%s\\0' "$@" >"$RECORD"
echo '{recorded}'
"""

# For each shell: its command, the place of its own file of commands with the content, and the place of the installed script.
STARTS = {
    "bash": (
        ["bash", "--noprofile", "--rcfile", "{home}/rc", "-i"],
        "rc",
        "PS1='{prompt}'\nsource '{home}/openurl'\n",
        "openurl",
    ),
    "zsh": (
        ["zsh", "-i"],
        ".zshrc",
        "PS1='{prompt}'\nfpath+=('{home}/functions')\nautoload -Uz compinit\ncompinit -u -D\n",
        "functions/_openurl",
    ),
    "fish": (
        ["fish", "--interactive"],
        "config/fish/config.fish",
        "set -g fish_greeting\nfunction fish_prompt; echo -n '{prompt}'; end\n",
        "config/fish/completions/openurl.fish",
    ),
}


class Shell:
    """A shell on a terminal of its own."""

    def __init__(self, name, openurl, directory, home):
        command, rc, text, script = STARTS[name]
        self.record = f"{home}/record"
        self.output = b""
        completion = subprocess.run([openurl, "--generate-completion-script", name], capture_output=True, check=True)
        files = {
            "bin/openurl": STAND_IN.format(recorded=RECORDED),
            rc: text.format(prompt=PROMPT, home=home),
            script: completion.stdout.decode(),
        }
        for path, content in files.items():
            os.makedirs(os.path.dirname(f"{home}/{path}"), exist_ok=True)
            with open(f"{home}/{path}", "w", encoding="utf-8") as file:
                file.write(content)
        os.chmod(f"{home}/bin/openurl", 0o700)
        environment = os.environ | {
            "HOME": home, "ZDOTDIR": home, "XDG_CONFIG_HOME": f"{home}/config", "TERM": "xterm", "COLUMNS": "200",
            "PATH": f"{home}/bin:{os.environ['PATH']}", "OPENURL": openurl, "RECORD": self.record,
        }
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe(command[0], [word.format(home=home) for word in command], environment)
        self.wait_for(PROMPT)

    def wait_for(self, text):
        """Reads until the shell has written the text, and forgets what came before."""
        end = time.monotonic() + LIMIT
        while text.encode() not in self.output:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            try:
                data = os.read(self.terminal, 65536) if ready else b""
            except OSError:
                data = b""
            if not data:
                sys.exit(f"no {text!r} in {self.output!r}")
            self.output += data
        self.output = self.output.partition(text.encode())[2]

    def type(self, line):
        """Types a line, and returns the arguments that openurl got."""
        os.write(self.terminal, line.encode() + b"\r")
        self.wait_for(RECORDED)
        self.wait_for(PROMPT)
        with open(self.record, "rb") as file:
            return [word.decode(errors="backslashreplace") for word in file.read().split(b"\0")[:-1]]

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def main():
    name, openurl, directory, *lines = sys.argv[1:]
    with tempfile.TemporaryDirectory() as home:
        shell = Shell(name, openurl, directory, home)
        try:
            print(json.dumps([shell.type(line) for line in lines]))
        finally:
            shell.end()


main()
