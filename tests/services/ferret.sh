#!/usr/bin/env bash
# A real database behind MongoDB's protocol: FerretDB, which keeps everything in the PostgreSQL of postgres.sh. It is not
# mongod: it has no replica set, no transactions and no failover.
#
#   ferret.sh DIR POSTGRESQL_PORT [PORT]   one server, in the place of this shell: its pid is the script's
#   ferret.sh fetch                        builds it with $GO (3 minutes of a processor), and no more
#
# It listens when it prints "ready". DIR keeps the port, so that after a stop or kill -9 the same call starts it again. PORT
# is a free one unless it is named; DIR/port keeps it.
set -euo pipefail
[[ $# -ge 2 || ${1:-} == fetch ]] || { sed -n '5,6s/^# \?//p' "$0" >&2; exit 2; }
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
tools=${TOOLS:-$(realpath "$here/../..")/target/tests}
# It is kept beside what it was made from.
built=$tools/ferret
if ! cmp -s "$here/ferret/go.sum" "$built/go.sum" || ! cmp -s "$here/ferret/main.go" "$built/main.go"; then
  "${GO:-go}" build -C "$here/ferret" -o "$built/ferret" . >&2
  cp "$here/ferret"/{go.sum,main.go} "$built"
fi
[[ $1 != fetch ]] || exit 0

mkdir -p "$1"
. "$here/ports.bash"
port=$(keep_port "$1/port" 1 "${3:-}")
# Each statement of an `update` that finds its document keeps a connection until the whole command is done, and a command that
# finds no free one waits for good, even after its client has gone. The usual 50 are too few: each of two commands of one
# flight of view_audit has 60 statements, and those that a client gave up go on.
exec "$built/ferret" "127.0.0.1:$port" "postgres://postgres@127.0.0.1:$2/ferretdb?pool_max_conns=400"
