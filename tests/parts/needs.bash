# Sourced by the parts: each says what it needs; what is missing is installed, or the part fails with the line that
# would install it. Nothing passes because something was not there.
set -euo pipefail

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# A large installation may fail half way and go through the second time.
twice() { "$@" || { echo "once more: $*" >&2; "$@"; }; }

apt_install() {
  local line="apt-get install -y --no-install-recommends $*"
  [[ $EUID == 0 ]] || die "missing: $*; run: sudo $line"
  export DEBIAN_FRONTEND=noninteractive
  local locked=(-o DPkg::Lock::Timeout=120)
  twice apt-get "${locked[@]}" update -q || die "the package lists cannot be read; run: apt-get update && $line"
  twice apt-get "${locked[@]}" install -y -q --no-install-recommends "$@" || die "cannot install; run: $line"
}

need_command() { # COMMAND PACKAGE...
  local command=$1
  shift
  command -v "$command" >/dev/null || apt_install "$@"
  command -v "$command" >/dev/null || die "$command is still missing; run: apt-get install -y $*"
}

need_cargo() {
  cargo --version >/dev/null 2>&1 || die "cargo is missing; install Rust as https://rustup.rs says"
  for component in "$@"; do
    cargo "$component" --version >/dev/null 2>&1 || die "missing; run: rustup component add ${component/#fmt/rustfmt}"
  done
}

need_binary() {
  need_cargo
  need_command cc build-essential
  cargo build --release --locked
}

# Sets PYTHON, an environment with the WebSocket client and the token library.
need_python() {
  need_command python3 python3 python3-venv
  PYTHON=$TOOLS/venv/bin/python
  if ! "$PYTHON" -c 'import websockets, jwt' 2>/dev/null; then
    python3 -c 'import ensurepip' 2>/dev/null || apt_install python3-venv
    python3 -m venv --clear "$TOOLS/venv"
    twice "$PYTHON" -m pip install -q websockets pyjwt || die "cannot install; run: $PYTHON -m pip install websockets pyjwt"
  fi
}

# Sets CHROMIUM; playwright-core drives it, and brings no browser of its own.
need_browser() {
  need_command node nodejs
  need_command npm npm
  need_command chromium chromium ffmpeg fonts-dejavu-core
  CHROMIUM=$(command -v chromium)
  export CHROMIUM NODE_TOOLS=$TOOLS/node
  if [[ ! -d $NODE_TOOLS/node_modules/playwright-core ]]; then
    local install=(npm install --loglevel=error --no-audit --no-fund --prefix "$NODE_TOOLS" playwright-core)
    # Node brings its own list of authorities; the system's may know more.
    local authorities=/etc/ssl/certs/ca-certificates.crt
    [[ ! -f $authorities ]] || export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-$authorities}
    mkdir -p "$NODE_TOOLS"
    twice "${install[@]}" || die "cannot install; run: ${install[*]}"
  fi
}
