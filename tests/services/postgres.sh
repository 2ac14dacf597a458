#!/usr/bin/env bash
# A PostgreSQL of its own on loopback, with an empty database called ferretdb.
#
#   postgres.sh DIR [PORT]   one server, in the place of this shell: its pid is the script's
#
# It listens when it writes "ready to accept connections". DIR keeps data and port, so that after a stop or kill -9 the same
# call starts it again. PORT is a free one unless it is named; DIR/port keeps it.
set -euo pipefail
[[ $# -ge 1 ]] || { sed -n '4s/^# \?//p' "$0" >&2; exit 2; }
mkdir -p "$1"
dir=$(realpath "$1")
. "$(dirname "${BASH_SOURCE[0]}")/ports.bash"
port=$(keep_port "$dir/port" 1 "${2:-}")
programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)

# It refuses to run as root. The user that its package made may not enter the folders above DIR, but for this capability.
run=()
if [[ $EUID == 0 ]]; then
  run=(setpriv --reuid postgres --regid postgres --clear-groups --inh-caps +dac_override --ambient-caps +dac_override)
  mkdir -p "$dir/data"
  chown -R postgres: "$dir/data"
fi
if [[ ! -f $dir/made ]]; then
  rm -rf "$dir"/data/*
  "${run[@]}" "$programs/initdb" -D "$dir/data" -A trust -U postgres --no-sync >"$dir/initdb.log" 2>&1 ||
    { cat "$dir/initdb.log" >&2; exit 1; }
  "${run[@]}" "$programs/postgres" --single -D "$dir/data" postgres <<<'CREATE DATABASE ferretdb' >/dev/null
  touch "$dir/made"
fi

# The processes of one that was killed hold its memory for a moment. Its lock names a process that may be a zombie or, by now,
# another one.
uses_data() {
  local process
  for process in /proc/[0-9]*; do
    [[ $(readlink "$process/cwd") != "$dir/data" ]] || return 0
  done
  return 1
}
while uses_data; do sleep 0.02; done
rm -f "$dir/data/postmaster.pid"
exec "${run[@]}" "$programs/postgres" -D "$dir/data" -p "$port" \
  -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c shared_buffers=32MB -c max_connections=420
