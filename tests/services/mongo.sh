#!/usr/bin/env bash
# A server on loopback that speaks MongoDB's protocol and keeps what it acknowledged. It is not mongod:
# tests/services/mongo/MongoServer.java says what it cannot show.
#
#   mongo.sh DIR [PORT]   one server, in the place of this shell: its pid is the script's
#   mongo.sh fetch        downloads its jars and compiles it, and no more
#
# It listens when it prints "ready". DIR keeps data and port, so that after a stop or kill -9 the same call starts it again.
# PORT is a free one unless it is named; DIR/port keeps it.
set -euo pipefail
[[ $# -ge 1 ]] || { sed -n '5,6s/^# \?//p' "$0" >&2; exit 2; }
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
root=$(realpath "$here/../..")
tools=${TOOLS:-$root/target/tests}
# The jars of one version, and the class, are kept beside what they were made from.
jars=$tools/mongo
if ! cmp -s "$here/mongo/pom.xml" "$jars/pom.xml"; then
  rm -rf "$jars"
  mkdir -p "$jars"
  mvn -q -B -Dmaven.repo.local="$tools/cache/maven" -f "$here/mongo/pom.xml" dependency:copy-dependencies \
    -DoutputDirectory="$jars/lib" >&2
  cp "$here/mongo/pom.xml" "$jars/pom.xml"
fi
if ! cat "$here"/mongo/*.java | cmp -s - "$jars/sources"; then
  javac -cp "$jars/lib/*" -d "$jars/classes" "$here"/mongo/*.java
  cat "$here"/mongo/*.java >"$jars/sources"
fi
[[ $1 != fetch ]] || exit 0

mkdir -p "$1"
dir=$(realpath "$1")
. "$here/ports.bash"
port=$(keep_port "$dir/port" 1 "${2:-}")
exec java -Xms64m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError \
  -Djava.awt.headless=true -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$jars/classes:$jars/lib/*" \
  MongoServer "$dir/data.mv" 127.0.0.1 "$port"
