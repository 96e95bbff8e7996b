#!/usr/bin/env bash
# Runs a command in a session of its own: a private bus, and new directories for the home and the data, which are removed at
# the end. `openurl` is on PATH, and the bus starts the router at the first call. Nothing of the user's own session changes.
# Usage: examples/session.sh DIRECTORY COMMAND [ARGUMENT ...], where the directory holds the built programs.
set -euo pipefail

programs=$(realpath "${1:?usage: examples/session.sh DIRECTORY COMMAND [ARGUMENT ...]}")
shift
project=$(realpath "$(dirname "$0")/..")

export HOME
HOME=$(mktemp -d)
trap 'rm -rf "$HOME"' EXIT
export XDG_DATA_HOME=$HOME/data XDG_DATA_DIRS=$HOME/system XDG_RUNTIME_DIR=$HOME/run
export XDG_CONFIG_HOME=$HOME/config XDG_CACHE_HOME=$HOME/cache XDG_STATE_HOME=$HOME/state
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkdir -p "$XDG_DATA_HOME/dbus-1/services" "$XDG_DATA_DIRS/openurl/handlers"
ln -s "$programs" "$HOME/bin"
export PATH=$HOME/bin:$PATH
cp "$project"/Schemes/org.openurl.system.*.plist "$XDG_DATA_DIRS/openurl/handlers"
sed "s|@BINDIR@|$HOME/bin|" "$project/Packaging/org.openurl.Router1.service.in" \
    >"$XDG_DATA_HOME/dbus-1/services/org.openurl.Router1.service"

# The output of the bus and its programs goes through `cat` to standard error. `cat` ends after the last of these programs,
# so the directories are removed when no program writes to them any longer.
{ dbus-run-session -- bash -c 'exec "$@" >&3 2>&4 3>&- 4>&-' session "$@" 2>&1 | cat >&4; } 3>&1 4>&2
