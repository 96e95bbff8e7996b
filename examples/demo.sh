#!/usr/bin/env bash
# Opens a URL whose handler is not running yet, in a separate session. `make demo` builds the programs and then runs this.
# Usage: examples/demo.sh DIRECTORY, where the programs are in the directory.
set -euo pipefail

programs=$(realpath "${1:?usage: examples/demo.sh DIRECTORY}")
cd "$(dirname "$0")/.."

steps() {
    PS4=$'\n$ '
    set -ex
    openurl register Schemes/com.acme.todolist.plist
    openurl --verbose 'todolist://www.acme.com?Quarterly%20Report#200806231300'
    todolist list
}
export -f steps

# The output of the bus and its programs goes to a log, without a message about the limit of open files: in a container,
# root may not raise it, and the demonstration does not need that.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { examples/session.sh "$programs" bash -c 'steps 2>&1' 2>&1 >&3 | sed '/Failed to set fd limit/d' >"$log"; } 3>&1; then
    cat "$log" >&2
    exit 1
fi
