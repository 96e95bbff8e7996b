#!/usr/bin/env bash
# Opens a URL whose handler is not running yet. `make demo` builds the programs and then runs this script. The script
# uses its own session bus, home directory and data directories, and removes them at the end. Usage: examples/demo.sh
# DIRECTORY, where the directory holds the programs.
set -euo pipefail

programs=$(realpath "${1:?usage: examples/demo.sh DIRECTORY}")
cd "$(dirname "$0")/.."

export HOME
HOME=$(mktemp -d)
trap 'rm -rf "$HOME"' EXIT
export XDG_DATA_HOME=$HOME/data XDG_DATA_DIRS=$HOME/system XDG_RUNTIME_DIR=$HOME/run
export XDG_CONFIG_HOME=$HOME/config XDG_CACHE_HOME=$HOME/cache XDG_STATE_HOME=$HOME/state
mkdir -m 700 "$XDG_RUNTIME_DIR"
ln -s "$programs" "$HOME/bin"
export PATH=$HOME/bin:$PATH

# The bus starts the router at the first call of its name.
mkdir -p "$XDG_DATA_HOME/dbus-1/services"
sed "s|@BINDIR@|$HOME/bin|" Packaging/org.openurl.Router1.service.in \
    >"$XDG_DATA_HOME/dbus-1/services/org.openurl.Router1.service"

steps() {
    PS4=$'\n$ '
    set -ex
    openurl register Schemes/com.acme.todolist.plist
    openurl --verbose 'todolist://www.acme.com?Quarterly%20Report#200806231300'
    todolist list
}
export -f steps

# The output of the bus and its programs goes to a log. `sed` ends after the last of these programs. In a container root
# may not raise the limit of open files, and the demonstration does not need the higher limit.
if ! { dbus-run-session -- bash -c 'steps >&3 2>&3' 2>&1 | sed '/Failed to set fd limit/d' >"$HOME/log"; } 3>&1; then
    cat "$HOME/log" >&2
    exit 1
fi
