#!/usr/bin/env bash
# A Valkey that can SET … IFEQ, for tests: Debian trixie's, unpacked with its own C library beside whatever is installed.
#
#   valkey.sh fetch    downloads and unpacks it; $TOOLS/valkey/valkey-server starts it, and takes what redis-server takes
#
# The packages come from the mirror that this machine is set to install from, and are checked with Debian's keys.
set -euo pipefail
[[ ${1:-} == fetch ]] || { sed -n '4s/^# \?//p' "$0" >&2; exit 2; }
self=$(realpath "${BASH_SOURCE[0]}")
tools=$(realpath "${TOOLS:-$(dirname "$self")/../../target/tests}")
release=trixie
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
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[[ -f $keys ]] || fail "$keys is missing; run: apt-get install -y debian-archive-keyring"
# The mirror that this machine's own release comes from.
own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
  awk -v own="$own" '$1 == own { print $2; exit }')
[[ -n $mirror ]] || fail "apt knows no mirror for ${own:-this release}; see /etc/apt/sources.list"

rm -rf "$there"
mkdir -p "$there"/{apt/lists/partial,apt/cache/archives/partial,packages,root}
echo "deb [signed-by=$keys] $mirror $release main" >"$there/apt/sources.list"
apt=(apt-get -q -o "Dir::Etc::sourcelist=$there/apt/sources.list" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root
  -o "Dir::State::lists=$there/apt/lists" -o "Dir::Cache=$there/apt/cache" -o Acquire::Languages=none
  -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
"${apt[@]}" update >&2 || fail "the mirror $mirror has no $release"
(cd "$there/packages" && "${apt[@]}" download "${packages[@]}" >&2) || fail "a package is missing in $release"
for package in "$there"/packages/*.deb; do dpkg-deb --extract "$package" "$there/root"; done
rm -r "$there"/{apt,packages}

loader=$(find "$there/root/usr/lib" -type f -name 'ld-linux-*.so.*' -print -quit)
[[ -n $loader ]] || fail "$release has no loader for $(dpkg --print-architecture)"
cat >"$there/valkey-server" <<END
#!/bin/sh
exec '$loader' --library-path '${loader%/*}' '$there/root/usr/bin/valkey-server' "\$@"
END
chmod +x "$there/valkey-server"
"$there/valkey-server" --version >&2 || fail "it does not run on this machine"
cp "$self" "$there/fetched-by"
