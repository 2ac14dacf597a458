#!/usr/bin/env bash
# A Valkey that can SET … IFEQ, for tests: Debian trixie's, unpacked with its own C library beside whatever is installed.
#
#   valkey.sh fetch    downloads and unpacks it; $TOOLS/valkey/valkey-server starts it, and takes what redis-server takes
set -euo pipefail
[[ ${1:-} == fetch ]] || { sed -n '4s/^# \?//p' "$0" >&2; exit 2; }
self=$(realpath "${BASH_SOURCE[0]}")
tools=$(realpath "${TOOLS:-$(dirname "$self")/../../target/tests}")
# What the server is linked with, too: another release may have none of it, or an older one.
packages=(valkey-server valkey-tools libc6 libatomic1 libcap2 libgcc-s1 libjemalloc2 liblzf1 libssl3t64 libstdc++6
  libsystemd0 libzstd1 zlib1g)
there=$tools/valkey
# What was fetched by another version of this file is fetched again.
! cmp -s "$self" "$there/fetched-by" || ! "$there/valkey-server" --version >/dev/null || exit 0

fail() {
  echo "cannot fetch Valkey: $*" >&2
  exit 1
}
. "$(dirname "$self")/trixie.bash"

rm -rf "$there"
unpack_trixie "$there" "${packages[@]}"
loader=$(find "$there/root/usr/lib" -type f -name 'ld-linux-*.so.*' -print -quit)
[[ -n $loader ]] || fail "trixie has no loader for $(dpkg --print-architecture)"
cat >"$there/valkey-server" <<END
#!/bin/sh
exec '$loader' --library-path '${loader%/*}' '$there/root/usr/bin/valkey-server' "\$@"
END
chmod +x "$there/valkey-server"
"$there/valkey-server" --version >&2 || fail "it does not run on this machine"
cp "$self" "$there/fetched-by"
