#!/usr/bin/env bash
# The Go of tests/back_ends/go, for a machine that has none or an older one.
#
#   go.sh fetch    downloads it; $TOOLS/go/root/bin/go starts it
#
# Debian trixie's Go is older, too. It downloads a newer one as a Go module, and does not take it unless Go's database of
# checksums has it.
set -euo pipefail
[[ ${1:-} == fetch ]] || { sed -n '4s/^# \?//p' "$0" >&2; exit 2; }
self=$(realpath "${BASH_SOURCE[0]}")
tools=$(realpath "${TOOLS:-$(dirname "$self")/../../target/tests}")
there=$tools/go
wanted=go1.27.3
! [[ $(GOTOOLCHAIN=local "$there/root/bin/go" env GOVERSION 2>/dev/null) == "$wanted" ]] || exit 0

fail() {
  echo "cannot fetch Go: $*" >&2
  exit 1
}
. "$(dirname "$self")/trixie.bash"

rm -rf "$there"
unpack_trixie "$there/debian" golang-1.24-go
older=$there/debian/root/usr/lib/go-1.24/bin/go
# Modules are read-only otherwise, and cannot be moved or deleted.
root=$(GOPATH=$there/modules GOMODCACHE=$there/modules GOFLAGS=-modcacherw GOTOOLCHAIN=$wanted "$older" env GOROOT) ||
  fail "the module proxy has no $wanted"
mv "$root" "$there/root"
rm -r "$there"/{debian,modules}
"$there/root/bin/go" version >&2 || fail "it does not run on this machine"
