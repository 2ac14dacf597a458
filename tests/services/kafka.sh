#!/usr/bin/env bash
# A real Kafka broker on loopback, with deploy/kafka/server.properties; broker and controller in one process.
#
#   kafka.sh DIR [PORT]   one broker, in the place of this shell: its pid is the script's
#   kafka.sh fetch        downloads its jars, and no more
#
# It listens when it logs "Kafka Server started". DIR keeps data and ports, so that after a stop or kill -9 the same call
# starts it again. PORT is a free one unless it is named, and the controller has the next; DIR/port keeps it.
set -euo pipefail
[[ $# -ge 1 ]] || { sed -n '4,5s/^# \?//p' "$0" >&2; exit 2; }
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
root=$(realpath "$here/../..")
tools=${TOOLS:-$root/target/tests}
# The jars of one version are kept beside what asked for them.
jars=$tools/kafka
if ! cmp -s "$here/kafka/pom.xml" "$jars/pom.xml"; then
  rm -rf "$jars"
  mkdir -p "$jars"
  mvn -q -B -Dmaven.repo.local="$tools/cache/maven" -f "$here/kafka/pom.xml" dependency:copy-dependencies \
    -DoutputDirectory="$jars/lib" >&2
  cp "$here/kafka/pom.xml" "$jars/pom.xml"
fi
[[ $1 != fetch ]] || exit 0

mkdir -p "$1"
dir=$(realpath "$1")
. "$here/ports.bash"
port=$(keep_port "$dir/port" 2 "${2:-}")
addresses=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
# Of two lines the later holds.
cat "$root/deploy/kafka/server.properties" - >"$dir/server.properties" <<END

listeners=$addresses
advertised.listeners=$addresses
controller.quorum.bootstrap.servers=127.0.0.1:$((port + 1))
log.dirs=$dir/data
END
java=(java -Xms256m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.awt.headless=true
  "-Dlog4j2.configurationFile=$here/kafka/log4j2.properties" -cp "$jars/lib/*")
if [[ ! -f $dir/data/meta.properties ]]; then
  id=$("${java[@]}" kafka.tools.StorageTool random-uuid)
  "${java[@]}" kafka.tools.StorageTool format --standalone -t "$id" -c "$dir/server.properties" >&2
fi
exec "${java[@]}" kafka.Kafka "$dir/server.properties"
