# Sourced by the parts. Each part names what it needs; what is missing is installed, or the part fails with the line that
# would install it. No part passes because something was missing.
set -euo pipefail
. tests/runner/machine.bash

# Builds what a part runs. While the part itself runs, that is done. Never `cargo build` without --release: what is not built for
# tests has fewer features, and would take all dependencies once more.
compile() { # build|test|clippy|doc|fetch [ARGUMENT...]
  need_cargo
  need_command cc build-essential
  [[ ! $PREPARING ]] || cargo "$1" --locked "${@:2}"
}

# Runs tests of what was compiled. A choice that no test matches is a fault.
run_tests() { # ARGUMENT...: of cargo test
  cargo test --locked --no-fail-fast "$@" | tee "$TMPDIR/run_tests.log"
  ! grep -q '^test result: ok\. 0 passed' "$TMPDIR/run_tests.log" || die "there is no such test: $*"
}

# What the part needs is there. All parts are prepared before the first one runs, and the time that it takes is not theirs.
ready() { [[ ! $PREPARING ]] || exit 0; }

# Parts run side by side, and two of them may miss the same thing: they install one after the other.
one_at_a_time() { # COMMAND ARGUMENT...
  local lock
  exec {lock}>"$TOOLS/install.lock"
  flock "$lock"
  "$@"
  exec {lock}>&-
}

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# A large installation may fail half way and succeed the second time.
twice() { "$@" || { echo "trying again: $*" >&2; "$@"; }; }

apt_install() {
  local line="apt-get install -y --no-install-recommends $*"
  [[ $EUID == 0 ]] || die "missing: $*; run: sudo $line"
  export DEBIAN_FRONTEND=noninteractive
  local locked=(-o DPkg::Lock::Timeout=120)
  # An installation that was interrupted keeps all others from beginning.
  dpkg --configure -a
  twice apt-get "${locked[@]}" update -q || die "the package lists cannot be read; run: apt-get update && $line"
  twice apt-get "${locked[@]}" install -y -q --no-install-recommends "$@" || die "cannot install; run: $line"
}

need_command() { # COMMAND PACKAGE...
  local command=$1
  shift
  command -v "$command" >/dev/null || one_at_a_time apt_install "$@"
  command -v "$command" >/dev/null || die "$command is still missing; run: apt-get install -y $*"
}

need_library() { # FILE PACKAGE...: one that is put before others, wherever it is installed
  local file=$1
  shift
  [[ $(find /usr/lib -name "$file" -print -quit) ]] || apt_install "$@"
  [[ $(find /usr/lib -name "$file" -print -quit) ]] || die "$file is still missing; run: apt-get install -y $*"
}

need_cargo() {
  cargo --version >/dev/null 2>&1 || die "cargo is missing; install Rust as https://rustup.rs says"
  for component in "$@"; do
    cargo "$component" --version >/dev/null 2>&1 || die "missing; run: rustup component add ${component/#fmt/rustfmt}"
  done
}

# A subcommand of cargo, built without optimization: it is built once and runs for seconds.
need_cargo_tool() { # CRATE VERSION
  local root
  root=$(machine_cache) || root=$TOOLS
  export PATH=$root/cargo-tools/bin:$PATH
  one_at_a_time install_cargo_tool "$root/cargo-tools" "$@"
}

install_cargo_tool() { # FOLDER CRATE VERSION
  local install=(cargo install --quiet --debug --locked --root "$1" "$2" --version "=$3")
  if ! grep -qF "\"$2 $3 " "$1/.crates.toml" 2>/dev/null; then
    twice "${install[@]}" --target-dir "$TOOLS/cargo-tools" || die "cannot install; run: ${install[*]}"
    rm -rf "$TOOLS/cargo-tools"
  fi
}

# The gateway and the load generator, as tests are built. Binaries come with tests of their packages only.
need_binary() {
  compile test --workspace --no-run --test tidy --test real_gateway
}

# The same for what measures a rate, and its long forms.
need_release_binary() {
  compile build --workspace --release --features fleet
  [[ ! $PREPARING ]] || touch "$CARGO_TARGET_DIR/release/$WHOLE_RELEASE"
  HEARTLINE_BIN=$CARGO_TARGET_DIR/release/heartline
}

# The gateway as the README builds it. In a folder of its own: the other release build has more features.
need_plain_binary() {
  CARGO_TARGET_DIR=$CARGO_TARGET_DIR/plain compile build --release
  HEARTLINE_BIN=$CARGO_TARGET_DIR/plain/release/heartline
}

# Sets PYTHON, an environment with the WebSocket client, the token library and a Kafka client that is not the gateway's.
need_python() {
  need_command python3 python3 python3-venv
  PYTHON=$TOOLS/venv/bin/python
  one_at_a_time install_python
}

install_python() {
  if ! "$PYTHON" -c 'import websockets, jwt, kafka' 2>/dev/null; then
    local packages=(websockets pyjwt kafka-python)
    python3 -c 'import ensurepip' 2>/dev/null || apt_install python3-venv
    python3 -m venv --clear "$TOOLS/venv"
    twice "$PYTHON" -m pip install -q "${packages[@]}" || die "cannot install; run: $PYTHON -m pip install ${packages[*]}"
  fi
}

# The same with a Cassandra driver that is not the gateway's, and what reads packs as they are compressed.
need_history_clients() {
  need_python
  one_at_a_time install_history_clients
}

install_history_clients() {
  local packages=(cassandra-driver lz4)
  "$PYTHON" -c 'import cassandra.cluster, lz4' 2>/dev/null || twice "$PYTHON" -m pip install -q "${packages[@]}" ||
    die "cannot install; run: $PYTHON -m pip install ${packages[*]}"
}

# The same with what makes a gRPC client from a schema, and reads the details of its errors.
need_grpc_clients() {
  need_python
  one_at_a_time install_grpc_clients
}

install_grpc_clients() {
  local packages=(grpcio grpcio-tools googleapis-common-protos)
  "$PYTHON" -c 'import grpc_tools.protoc, google.rpc.status_pb2' 2>/dev/null ||
    twice "$PYTHON" -m pip install -q "${packages[@]}" || die "cannot install; run: $PYTHON -m pip install ${packages[*]}"
}

# The same with what verifies the signatures of webhooks.
need_webhook_clients() {
  need_python
  one_at_a_time install_webhook_clients
}

install_webhook_clients() {
  local packages=(standardwebhooks)
  "$PYTHON" -c 'import standardwebhooks' 2>/dev/null || twice "$PYTHON" -m pip install -q "${packages[@]}" ||
    die "cannot install; run: $PYTHON -m pip install ${packages[*]}"
}

# The same with what reads YAML, and PromQL.
need_readers_of_yaml() {
  need_python
  one_at_a_time install_readers_of_yaml
}

install_readers_of_yaml() {
  local packages=(pyyaml promql-parser)
  "$PYTHON" -c 'import yaml, promql_parser' 2>/dev/null || twice "$PYTHON" -m pip install -q "${packages[@]}" ||
    die "cannot install; run: $PYTHON -m pip install ${packages[*]}"
}

# The servers of tests/services/redis.sh. The package may start one on the usual port, which does no harm.
need_redis() {
  need_command redis-server redis-server
  need_command redis-cli redis-tools
}

# Sets VALKEY, a server that can SET … IFEQ, which is kept below TOOLS.
need_valkey() { # HEARTLINE_TEST_VALKEY: another server that can SET … IFEQ
  VALKEY=${HEARTLINE_TEST_VALKEY:-}
  [[ -z $VALKEY ]] || return 0
  need_command dpkg-deb dpkg
  one_at_a_time fetch_valkey
  VALKEY=$TOOLS/valkey/valkey-server
}

fetch_valkey() {
  twice tests/services/valkey.sh fetch || die "cannot fetch Valkey; run: tests/services/valkey.sh fetch"
}

# The broker of tests/services/kafka.sh, whose jars are kept below TOOLS.
need_kafka() {
  need_command java openjdk-17-jre-headless
  need_command mvn maven
  one_at_a_time fetch_kafka
}

fetch_kafka() {
  twice tests/services/kafka.sh fetch || die "cannot download Kafka; run: tests/services/kafka.sh fetch"
}

# The node of tests/services/cassandra.sh, whose jars are kept below TOOLS.
need_cassandra() {
  need_command java openjdk-17-jre-headless
  need_command mvn maven
  one_at_a_time fetch_cassandra
}

fetch_cassandra() {
  twice tests/services/cassandra.sh fetch || die "cannot download Cassandra; run: tests/services/cassandra.sh fetch"
}

# Starts one for the tests of this part, and exports where it is. The part ends it: `end_cassandra` in a trap.
start_cassandra() {
  bash tests/services/cassandra.sh "$TMPDIR/cassandra" >"$TMPDIR/cassandra.log" 2>&1 &
  cassandra=$!
  until grep -q 'Startup complete' "$TMPDIR/cassandra.log"; do
    kill -0 "$cassandra" 2>/dev/null || die "Cassandra does not start: $(tail -n 5 "$TMPDIR/cassandra.log")"
    sleep 0.1
  done
  HEARTLINE_TEST_CASSANDRA=127.0.0.1:$(<"$TMPDIR/cassandra/port")
  export HEARTLINE_TEST_CASSANDRA
}

end_cassandra() {
  [[ -z ${cassandra:-} ]] || { kill "$cassandra"; wait "$cassandra" || true; }
}

# Exports KOTLIN, the folder of what tests/conformance/kotlin.sh compiles. Its compiler and libraries are jars below TOOLS.
need_kotlin_client() {
  need_command java openjdk-17-jre-headless
  need_command mvn maven
  need_command patch patch
  one_at_a_time compile_kotlin_client
  export KOTLIN=$TOOLS/kotlin/target
}

compile_kotlin_client() {
  twice tests/conformance/kotlin.sh || die "cannot compile the client; run: tests/conformance/kotlin.sh"
}

# The server of tests/services/mongo.sh, whose jars and class are kept below TOOLS.
need_mongo() {
  need_command javac openjdk-17-jdk-headless
  need_command mvn maven
  one_at_a_time fetch_mongo
}

fetch_mongo() {
  twice tests/services/mongo.sh fetch || die "cannot make the server; run: tests/services/mongo.sh fetch"
}

# Starts one for the tests of this part, and exports where it is. The part ends it: `end_mongo` in a trap.
start_mongo() {
  bash tests/services/mongo.sh "$TMPDIR/mongo" >"$TMPDIR/mongo.log" 2>&1 &
  mongo=$!
  until grep -q '^ready ' "$TMPDIR/mongo.log"; do
    kill -0 "$mongo" 2>/dev/null || die "the server does not start: $(tail -n 5 "$TMPDIR/mongo.log")"
    sleep 0.1
  done
  HEARTLINE_TEST_MONGO=mongodb://127.0.0.1:$(<"$TMPDIR/mongo/port")
  export HEARTLINE_TEST_MONGO
}

end_mongo() {
  [[ -z ${mongo:-} ]] || { kill "$mongo"; wait "$mongo" || true; }
}

# The server of tests/services/ferret.sh, which is kept below TOOLS, and its PostgreSQL.
need_ferret() {
  [[ $(find /usr/lib/postgresql -name initdb -print -quit 2>/dev/null) ]] || one_at_a_time apt_install postgresql
  need_command setpriv util-linux
  need_go
  one_at_a_time fetch_ferret
}

fetch_ferret() {
  twice tests/services/ferret.sh fetch || die "cannot build FerretDB; run: tests/services/ferret.sh fetch"
}

# Starts both for the tests of this part, and exports where they are. The part ends them: `end_ferret` in a trap.
start_ferret() {
  bash tests/services/postgres.sh "$TMPDIR/postgres" >"$TMPDIR/postgres.log" 2>&1 &
  postgres=$!
  wait_for_line "$postgres" 'ready to accept connections$' "$TMPDIR/postgres.log"
  bash tests/services/ferret.sh "$TMPDIR/ferret" "$(<"$TMPDIR/postgres/port")" >"$TMPDIR/ferret.log" 2>&1 &
  ferret=$!
  wait_for_line "$ferret" '^ready ' "$TMPDIR/ferret.log"
  HEARTLINE_TEST_MONGO="mongodb://127.0.0.1:$(<"$TMPDIR/ferret/port")/?directConnection=true"
  export HEARTLINE_TEST_MONGO
}

wait_for_line() { # PID PATTERN LOG
  until grep -q "$2" "$3"; do
    kill -0 "$1" 2>/dev/null || die "a server does not start: $(tail -n 5 "$3")"
    sleep 0.1
  done
}

end_ferret() {
  local process
  for process in "${ferret:-}" "${postgres:-}"; do
    [[ -z $process ]] || { kill "$process"; wait "$process" || true; }
  done
  ferret='' postgres=''
}

# Exports PROMTOOL, which is kept below TOOLS: to install its package would start a Prometheus, too.
need_promtool() {
  PROMTOOL=$(command -v promtool || true)
  if [[ -z $PROMTOOL ]]; then
    need_command dpkg-deb dpkg
    PROMTOOL=$TOOLS/prometheus/usr/bin/promtool
    one_at_a_time fetch_promtool
  fi
  export PROMTOOL
}

fetch_promtool() {
  local there=$TOOLS/prometheus
  [[ ! -x $PROMTOOL ]] || return 0
  mkdir -p "$there"
  # The package lists may be old, or missing.
  download_prometheus || { apt-get update -q && download_prometheus; } ||
    die "cannot fetch promtool; run: apt-get install -y prometheus"
  dpkg-deb --extract "$there"/prometheus_*.deb "$there"
  rm "$there"/prometheus_*.deb
}

download_prometheus() {
  (cd "$TOOLS/prometheus" && apt-get download -q -o APT::Sandbox::User=root prometheus)
}

need_haproxy() {
  need_command haproxy haproxy
}

# Sets NODE, which knows --experimental-websocket and tells modules by their syntax: 20.19 or later. An older one gets a newer
# one of its own, below TOOLS.
need_node() {
  need_command node nodejs
  need_command npm npm
  NODE=$(command -v node)
  if ! new_enough "$NODE"; then
    NODE=$TOOLS/newer-node/node_modules/node/bin/node
    one_at_a_time install_node
  fi
}

new_enough() { # NODE
  "$1" -e 'const [major, minor] = process.versions.node.split("."); process.exit(major > 20 || (major == 20 && minor >= 19) ? 0 : 1)' 2>/dev/null
}

install_node() {
  local install=(npm install --loglevel=error --no-audit --no-fund --prefix "$TOOLS/newer-node" node@22)
  new_enough "$NODE" || twice "${install[@]}" || die "cannot install; run: ${install[*]}"
}

# Exports GO, which is new enough for tests/back_ends/go. Without one, it gets one of its own below TOOLS, where all that Go
# downloads, builds and counts is kept, too.
need_go() {
  # What its user has set holds: a proxy, for example.
  export GOENV=${GOENV:-${XDG_CONFIG_HOME:-${HOME:-}/.config}/go/env} XDG_CONFIG_HOME=$TOOLS/cache/go/config
  # The cache of modules is read-only otherwise, and target/ could not be deleted.
  export GOPATH=$TOOLS/cache/go GOMODCACHE=$TOOLS/cache/go/modules GOCACHE=$TOOLS/cache/go/builds GOFLAGS=-modcacherw
  # The Go that is found is the one that runs, and needs no compiler of C.
  export GOTOOLCHAIN=local CGO_ENABLED=0
  # Where it is not on the PATH, it is where Go's own instructions put it.
  GO=$(command -v go || echo /usr/local/go/bin/go)
  if ! go_is_new_enough; then
    need_command dpkg-deb dpkg
    GO=$TOOLS/go/root/bin/go
    one_at_a_time fetch_go
  fi
  export GO
  one_at_a_time install_go_modules
}

go_is_new_enough() {
  "$GO" list -C tests/back_ends/go -m >/dev/null 2>&1
}

fetch_go() {
  go_is_new_enough || twice tests/services/go.sh fetch ||
    die "cannot fetch Go; install it as https://go.dev/doc/install says, or run: tests/services/go.sh fetch"
}

install_go_modules() {
  local install=("$GO" mod download -C tests/back_ends/go)
  twice "${install[@]}" || die "cannot install; run: ${install[*]}"
}

# Sets CHROMIUM; playwright-core drives it, and downloads no browser. axe-core checks the accessibility of the page.
need_browser() {
  need_command node nodejs
  need_command npm npm
  need_command chromium chromium ffmpeg fonts-dejavu-core
  CHROMIUM=$(command -v chromium)
  export CHROMIUM NODE_TOOLS=$TOOLS/node
  one_at_a_time install_browser_packages
}

install_browser_packages() {
  if [[ ! -d $NODE_TOOLS/node_modules/playwright-core || ! -d $NODE_TOOLS/node_modules/axe-core ]]; then
    local install=(npm install --loglevel=error --no-audit --no-fund --prefix "$NODE_TOOLS" playwright-core axe-core)
    # Node brings its own certificate authorities; the system may trust more.
    local authorities=/etc/ssl/certs/ca-certificates.crt
    [[ ! -f $authorities ]] || export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-$authorities}
    mkdir -p "$NODE_TOOLS"
    twice "${install[@]}" || die "cannot install; run: ${install[*]}"
  fi
}

# Sets PYTHON27. Distributions have dropped it, so it may have to be built.
need_python27() {
  local account found
  account=$(getent passwd "$(id -u)" | cut -d: -f6)
  # pyenv may answer to a name that it does not have, and compiling an extension needs the headers.
  local check='import os, sys, sysconfig; os.stat(sysconfig.get_config_h_filename()); print(sys.executable)'
  for found in python2.7 "${PYENV_ROOT:-$account/.pyenv}"/versions/2.7*/bin/python2.7; do
    PYTHON27=$("$found" -c "$check" 2>/dev/null) && return
  done
  die "Python 2.7 with its headers is missing; run: pyenv install 2.7.18"
}

# Sets WSTEST, the command of the Autobahn suite, which needs Python 2.
need_wstest() {
  need_python
  WSTEST=$TOOLS/wstest/bin/wstest
  one_at_a_time install_wstest
}

install_wstest() {
  local pins=tests/autobahn/requirements.txt environment=$TOOLS/wstest
  # The pins that are installed are kept beside them.
  if ! cmp -s "$pins" "$environment/installed.txt"; then
    need_python27
    # The last version that supports Python 2.7.
    local maker=virtualenv==20.15.1
    twice "$PYTHON" -m pip install -q "$maker" || die "cannot install; run: $PYTHON -m pip install $maker"
    VIRTUALENV_OVERRIDE_APP_DATA=$TOOLS/cache/virtualenv \
      "$PYTHON" -m virtualenv -q --clear --no-wheel --python "$PYTHON27" "$environment"
    local install=("$environment/bin/pip" install -q --no-python-version-warning --no-deps -r "$pins")
    twice "${install[@]}" || die "cannot install; run: ${install[*]}"
    cp "$pins" "$environment/installed.txt"
  fi
}
