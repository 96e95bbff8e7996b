#!/usr/bin/env bash
# Runs a command in a separate session: a private bus, and new directories for the home and the data, which are removed at
# the end. `openurl` is on PATH, and the bus starts the router at the first call. Nothing in your own session changes.
# Usage: examples/session.sh [--log] DIRECTORY COMMAND [ARGUMENT ...], where the built programs are in the directory.
# The output of the bus and its programs goes to standard error, or with --log to a file in the home directory.
set -euo pipefail

logs=
if [ "${1:-}" = --log ]; then
    logs=yes
    shift
fi
programs=$(realpath "${1:?usage: examples/session.sh [--log] DIRECTORY COMMAND [ARGUMENT ...]}")
shift
project=$(realpath "$(dirname "$0")/..")
IFS=: read -ra machine <<<"${XDG_DATA_DIRS:-/usr/local/share:/usr/share}"

export HOME
HOME=$(mktemp -d)
trap 'rm -rf "$HOME"' EXIT
export XDG_DATA_HOME=$HOME/data XDG_DATA_DIRS=$HOME/system XDG_RUNTIME_DIR=$HOME/run
# The machine's login session does nothing to the handlers of this session.
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$HOME/no-system-bus
export XDG_CONFIG_HOME=$HOME/config XDG_CACHE_HOME=$HOME/cache XDG_STATE_HOME=$HOME/state
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkdir -p "$XDG_DATA_HOME/dbus-1/services" "$HOME/system/openurl/handlers"
ln -s "$programs" "$HOME/bin"
export PATH=$HOME/bin:$PATH
cp "$project"/Schemes/org.openurl.system.*.plist "$HOME/system/openurl/handlers"
# The machine's MIME databases give files their types. Its handlers and desktop entries stay out.
for directory in "${machine[@]}"; do
    if [ -d "$directory/mime" ]; then
        types=$(mktemp -d "$HOME/types.XXXXXX")
        ln -s "$directory/mime" "$types/mime"
        XDG_DATA_DIRS+=:$types
    fi
done
sed "s|@BINDIR@|$HOME/bin|" "$project/Packaging/org.openurl.Router1.service.in" \
    >"$XDG_DATA_HOME/dbus-1/services/org.openurl.Router1.service"

for page in "$project"/Packaging/*.[158]; do
    mkdir -p "$HOME/man/man${page##*.}"
    ln -s "$page" "$HOME/man/man${page##*.}"
done
export MANPATH=$HOME/man:${MANPATH:-}

exec 5>&2
if [ -n "$logs" ]; then
    exec 5>"$HOME/session.log"
    echo "The output of the bus, the router and the handlers goes to $HOME/session.log, until this shell ends." >&2
fi

# The output of the bus and its programs goes through `cat`, which exits after the last of them. So the directories are
# removed only when no program writes to them any longer.
{ dbus-run-session -- bash -c 'exec "$@" >&3 2>&4 3>&- 4>&-' session "$@" 2>&1 5>&- | cat >&5; } 3>&1 4>&2
