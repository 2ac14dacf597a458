#!/usr/bin/env bash
# A real Cassandra node on loopback, with deploy/cassandra/cassandra.yaml.
#
#   cassandra.sh DIR [PORT]   one node, in the place of this shell: its pid is the script's
#   cassandra.sh fetch        downloads its jars, runs it once to keep its classes, and no more
#
# It listens when it logs "Startup complete". DIR keeps data and ports, so that after a stop or kill -9 the same call starts
# it again. PORT is a free one unless it is named, and the next one is for other nodes; DIR/port keeps it.
set -euo pipefail
[[ $# -ge 1 ]] || { sed -n '4,5s/^# \?//p' "$0" >&2; exit 2; }
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
root=$(realpath "$here/../..")
tools=${TOOLS:-$root/target/tests}
# The jars of one version are kept beside what asked for them.
jars=$tools/cassandra
if ! cmp -s "$here/cassandra/pom.xml" "$jars/pom.xml"; then
  rm -rf "$jars"
  mkdir -p "$jars"
  mvn -q -B -Dmaven.repo.local="$tools/cache/maven" -f "$here/cassandra/pom.xml" dependency:copy-dependencies \
    -DoutputDirectory="$jars/lib" >&2
  cp "$here/cassandra/pom.xml" "$jars/pom.xml"
fi
classes=$jars/classes.jsa
. "$here/classes.bash"
if [[ $1 == fetch ]]; then
  keep_classes "$classes" 'Startup complete' "$0"
  exit
fi

mkdir -p "$1"
dir=$(realpath "$1")
. "$here/ports.bash"
port=$(keep_port "$dir/port" 2 "${2:-}")
# Of two lines the later holds.
cat "$root/deploy/cassandra/cassandra.yaml" - >"$dir/cassandra.yaml" <<END

listen_address: 127.0.0.1
rpc_address: 127.0.0.1
native_transport_port: $port
storage_port: $((port + 1))
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{seeds: "127.0.0.1:$((port + 1))"}]
data_file_directories: [$dir/data]
commitlog_directory: $dir/commitlog
saved_caches_directory: $dir/saved_caches
hints_directory: $dir/hints
cdc_raw_directory: $dir/cdc
END

# What Cassandra needs of a JVM that is newer than its own.
java=(java -Xms384m -Xmx384m -XX:MaxDirectMemorySize=128m -Xss512k -XX:+UseSerialGC -XX:TieredStopAtLevel=1
  -XX:+ExitOnOutOfMemoryError -Djava.awt.headless=true -Djdk.attach.allowAttachSelf=true)
for name in java.base/{jdk.internal.misc,java.lang.ref,sun.nio.ch} java.sql/java.sql jdk.unsupported/sun.misc \
  java.management/com.sun.jmx.remote.security java.management.rmi/com.sun.jmx.remote.internal.rmi \
  java.rmi/sun.rmi.{registry,server} java.rmi/sun.rmi.transport.tcp; do
  java+=(--add-exports "$name=ALL-UNNAMED")
done
for name in java.base/{sun.nio.ch,java.{io,lang,lang.module,lang.reflect,math,net,nio,util}} \
  java.base/java.util.concurrent{,.atomic} java.base/jdk.internal.{loader,math,module,ref,reflect,util.jar} \
  jdk.management/com.sun.management.internal; do
  java+=(--add-opens "$name=ALL-UNNAMED")
done
# Alone, it waits for no other nodes.
java+=(-Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.ring_delay_ms=0 -Dcassandra.superuser_setup_delay_ms=0
  -Dcassandra.shutdown_announce_in_ms=0)
# Its agent only measures objects.
java+=("$(classes_option "$classes")" -XX:+UnlockDiagnosticVMOptions -XX:+AllowArchivingWithJavaAgent)
cd "$dir"
exec "${java[@]}" -javaagent:"$(echo "$jars"/lib/jamm-*.jar)" -Djava.io.tmpdir="$dir" -Djna.tmpdir="$dir" \
  -Dcassandra.config="file://$dir/cassandra.yaml" -Dcassandra.storagedir="$dir" -Dcassandra-foreground=yes \
  -Dlogback.configurationFile="$here/cassandra/logback.xml" -cp "$jars/lib/*" \
  org.apache.cassandra.service.CassandraDaemon
