#!/usr/bin/env bash
# A real Kafka broker on loopback, with deploy/kafka/server.properties; broker and controller in one process.
#
#   kafka.sh DIR [PORT]      one broker, in the place of this shell: its pid is the script's
#   kafka.sh DIR N of COUNT  the Nth broker of a cluster of so many, likewise; they may start together
#   kafka.sh fetch           downloads its jars, runs it once to keep its classes, and no more
#
# It listens when it logs "Kafka Server started". DIR keeps data and ports, so that after a stop or kill -9 the same call
# starts it again. PORT is a free one unless it is named, and the controller has the next; DIR/port keeps it. The brokers of
# a cluster have neighbouring ports, from that one on, and after them their controllers. After these each broker has a
# listener that asks for a login (SASL_PLAINTEXT, PLAIN): the user heartline, the password right.
set -euo pipefail
[[ $# -ge 1 ]] || { sed -n '4,6s/^# \?//p' "$0" >&2; exit 2; }
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
classes=$jars/classes.jsa
. "$here/classes.bash"
if [[ $1 == fetch ]]; then
  keep_classes "$classes" 'Kafka Server started' "$0"
  exit
fi

mkdir -p "$1"
dir=$(realpath "$1")
. "$here/ports.bash"
node=1 count=1
[[ ${3:-} != of ]] || node=$2 count=$4
java=(java -Xms256m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.awt.headless=true
  "$(classes_option "$classes")" "-Dlog4j2.configurationFile=$here/kafka/log4j2.properties" -cp "$jars/lib/*")
# The first of a cluster chooses for all.
exec {lock}>"$dir/lock"
flock "$lock"
port=$(keep_port "$dir/port" "$((3 * count))" "$([[ $count != 1 ]] || echo "${2:-}")")
[[ -f $dir/id ]] || head -c 16 /dev/urandom | base64 | tr '+/' '__' | tr -d = >"$dir/id"
exec {lock}>&-

home=$dir
[[ $count == 1 ]] || home=$dir/$node
mkdir -p "$home"
broker=$((port + node - 1))
controller=$((broker + count))
addresses=PLAINTEXT://127.0.0.1:$broker,SASL_PLAINTEXT://127.0.0.1:$((controller + count)),CONTROLLER://127.0.0.1:$controller
if [[ $count == 1 ]]; then
  quorum=bootstrap.servers=127.0.0.1:$controller format=(--standalone)
else
  quorum=voters= format=()
  for ((n = 1; n <= count; n++)); do quorum+=$n@127.0.0.1:$((port + count + n - 1)),; done
fi
login='org.apache.kafka.common.security.plain.PlainLoginModule required user_heartline="right";'
# Of two lines the later holds.
cat "$root/deploy/kafka/server.properties" - >"$home/server.properties" <<END

node.id=$node
listeners=$addresses
advertised.listeners=$addresses
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=$login
controller.quorum.${quorum%,}
log.dirs=$home/data
END
[[ -f $home/data/meta.properties ]] ||
  "${java[@]}" kafka.tools.StorageTool format "${format[@]}" -t "$(<"$dir/id")" -c "$home/server.properties" >&2
exec "${java[@]}" kafka.Kafka "$home/server.properties"
