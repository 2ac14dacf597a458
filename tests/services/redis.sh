#!/usr/bin/env bash
# Real Redis servers on loopback, with the files of deploy/redis: what one acknowledged survives kill -9.
#
#   redis.sh single DIR [PORT]     one server
#   redis.sh cluster DIR [PORT]    three masters without replicas
#   redis.sh sentinel DIR [PORT]   a master, its replica, and three sentinels
#
# When all answer it prints `PORT PID` of each server, and last the redis.url; then it waits, and ends what it started when
# it is ended. DIR keeps data, logs and ports for the next time. The first PORT is a free one unless it is named;
# the others follow it. A server that was killed is started again, on its port and data, by
#   redis-server DIR/PORT/redis.conf        (or: redis-server DIR/PORT/sentinel.conf --sentinel)
set -euo pipefail
[[ $# -ge 2 ]] || { sed -n '2,6s/^# \?//p' "$0" >&2; exit 2; }
mode=$1
mkdir -p "$2"
dir=$(realpath "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
deployed=$root/deploy/redis
declare -A counts=([single]=1 [cluster]=6 [sentinel]=5)
[[ -n ${counts[$mode]:-} ]] || { echo "no kind of Redis is called $mode; there are: single, cluster, sentinel" >&2; exit 2; }

. "$root/tests/services/ports.bash"
first=$(keep_port "$dir/port" "${counts[$mode]}" "${3:-}")
trap 'pids=$(jobs -pr); [[ -z $pids ]] || kill $pids; wait' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

cli() { # PORT COMMAND...
  redis-cli -h 127.0.0.1 -p "$@" 2>/dev/null
}

until_said() { # PORT PATTERN COMMAND...: waits until the answer has it
  local port=$1 pattern=$2
  shift 2
  for _ in {1..750}; do
    cli "$port" "$@" | grep -q "$pattern" && return
    sleep 0.02
  done
  echo "no server on port $port answers $* with $pattern:" >&2
  tail -n 5 "$dir/$port/log" >&2
  return 1
}

# What both kinds of file begin with. Redis writes into them later, so they are made once.
common() { # PORT
  printf '%s\n' "bind 127.0.0.1" "port $1" "dir \"$dir/$1\"" "pidfile \"$dir/$1/pid\"" "logfile \"$dir/$1/log\""
}

serve() { # PORT [LINE...]: a server with these lines over those of deploy/; the last word holds
  local file=$dir/$1/redis.conf
  mkdir -p "$dir/$1"
  [[ -f $file ]] || { echo "include \"$deployed/redis.conf\"" && printf '%s\n' "${@:2}" && common "$1"; } >"$file"
  redis-server "$file" &
  until_said "$1" PONG ping
}

watch() { # PORT: a sentinel
  local file=$dir/$1/sentinel.conf
  mkdir -p "$dir/$1"
  # The master has the port of this run, and shorter times let tests see a failover soon.
  [[ -f $file ]] || {
    sed "s/^\(sentinel monitor .*\) 6379 /\1 $first /; s/^\(sentinel down-after-milliseconds .*\) .*/\1 1000/
      s/^\(sentinel failover-timeout .*\) .*/\1 3000/" "$deployed/sentinel.conf"
    common "$1"
  } >"$file"
  redis-server "$file" --sentinel &
  until_said "$1" PONG ping
}

addresses() { # FROM TO, counted from the first port
  seq -f 127.0.0.1:%.0f -s , $((first + $1)) $((first + $2))
}

case $mode in
  single)
    serve "$first"
    servers=1 url=redis://127.0.0.1:$first
    ;;
  cluster)
    for n in 0 1 2; do
      serve $((first + n)) "include \"$deployed/cluster.conf\"" "cluster-port $((first + 3 + n))"
    done
    # The next time they find each other by themselves.
    cli "$first" cluster info | grep -q cluster_slots_assigned:16384 ||
      redis-cli --cluster create $(addresses 0 2 | tr , ' ') --cluster-yes >"$dir/create.log"
    for n in 0 1 2; do until_said $((first + n)) cluster_state:ok cluster info; done
    servers=3 url=redis-cluster://$(addresses 0 2)
    ;;
  sentinel)
    serve "$first"
    serve $((first + 1)) "replicaof 127.0.0.1 $first"
    for n in 2 3 4; do watch $((first + n)); done
    # They know each other and the replica.
    for n in 2 3 4; do
      until_said $((first + n)) '^OK 3' sentinel ckquorum heartline
      until_said $((first + n)) . sentinel replicas heartline
    done
    servers=5 url=redis-sentinel://$(addresses 2 4)/heartline
    ;;
esac
for ((n = 0; n < servers; n++)); do echo "$((first + n)) $(<"$dir/$((first + n))/pid")"; done
echo "$url"
# What the shell says of servers that are killed is no news.
exec 2>/dev/null
wait
