#!/usr/bin/env bash
# The client of docs/examples/kotlin, compiled as its documentation says, and beside it copies with one bug each.
#
#   kotlin.sh   compiles them if they have changed: target/tests/kotlin/target then has `classes` and `lib`
#
# A bug is a patch of tests/conformance/kotlin, named after the rule that it breaks. The classes of that copy are in the
# package `faulty`, in one that is named after the rule, too.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
root=$(realpath "$here/../..")
tools=${TOOLS:-$root/target/tests}
client=$root/docs/examples/kotlin
made=$tools/kotlin

sources() { cat "$0" "$client"/pom.xml "$client"/*/*.kt "$here"/kotlin/*.patch; }

copy() { # FOLDER [PATCH]
  mkdir -p "$1"
  cp -r "$client"/{heartline,conformance} "$1"
  [[ ! ${2:-} ]] || patch --quiet --fuzz=0 --no-backup-if-mismatch -d "$1" -p4 <"$2" >&2
}

# Its classes are beside those of the others: each needs a name of its own.
move_to_package() { # FOLDER PACKAGE
  sed -Ei "s/^(package|import) (heartline|conformance)\b/\1 $2.\2/" "$1"/*/*.kt
}

if ! sources | cmp -s - "$made/sources"; then
  rm -rf "$made"
  copy "$made"
  cp "$client/pom.xml" "$made"
  for bug in "$here"/kotlin/*.patch; do
    name=$(basename "$bug" .patch)
    name=faulty.${name//-/_}
    copy "$made/${name/.//}" "$bug"
    move_to_package "$made/${name/.//}" "$name"
  done
  # Without the second compiler: it takes longer than what it saves.
  MAVEN_OPTS='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' \
    mvn -q -B -Dmaven.repo.local="$tools/cache/maven" -f "$made/pom.xml" compile >&2
  sources >"$made/sources"
fi
