# Planted bugs: each patch of tests/planted is applied to a copy of the tree, and must make the test it names fail.
#
# A patch begins with what is wrong, and names the test in a line of its own:
#   Caught-by: unit CRATE::NAME    a unit test, exactly this one
#   Caught-by: gateway NAME        a test of the gateway (tests/gateway), exactly this one
#   Caught-by: gateway-redis NAME  the same, that needs Redis
#   Caught-by: library NAME        a test of the library (tests/library.rs), exactly this one
#   Caught-by: redis NAME          the same, that needs Redis
#   Caught-by: valkey NAME         the same, on Valkey
#   Caught-by: cassandra NAME      the same, that needs Cassandra
#   Caught-by: mongo NAME          the same, that needs what speaks MongoDB's protocol
#   Caught-by: auditor MODULE [ARG]
#                                  `python -m MODULE BINARY [ARG...]`
# Without a patch the same tests must pass: a test that always fails catches nothing.
#
# With --long all are tried. Without it, a handful is: first those that the change touches, then the others; among each, those
# that were not tried on this machine for the longest time. With --changed, only those that the change touches. On a slow
# machine no new one is begun after two and a half minutes. Notes say which were tried, and how many were left for another run.
. tests/parts/needs.bash
. tests/runner/change.bash
. tests/runner/turns.bash
need_command git git
need_command unshare util-linux
need_command mount mount
need_command strace strace
need_library libfaketimeMT.so.1 faketime
need_python
need_redis
need_valkey
need_kafka
need_cassandra
need_mongo

handful=3
# A bug that is not begun by then is left for another run.
seconds_max=150
[[ ! $LONG ]] || seconds_max=7200

choose_patches() { # prints a patch a line
  local all=(tests/planted/*.patch) touched others
  if [[ $LONG ]]; then
    printf '%s\n' "${all[@]##*/}"
    return
  fi
  mapfile -t touched < <(plants_touched)
  others=()
  [[ ${CHANGED:-} ]] || mapfile -t others < <(printf '%s\n' "${touched[@]}" | grep -vxFf - <(printf '%s\n' "${all[@]}"))
  {
    longest_waiting plants "${touched[@]##*/}"
    longest_waiting plants "${others[@]##*/}"
  } | sed -n "1,${handful}p"
}

names() { # PATCH...
  [[ $# == 0 ]] || basename --suffix=.patch "$@" | paste -sd ' '
}

# Both times that this script runs it is about the same bugs.
home=$TOOLS/planted
tree=$home/tree
mkdir -p "$home"
[[ ! $PREPARING ]] || choose_patches >"$home/chosen"
mapfile -t patches <"$home/chosen"
patches=("${patches[@]/#/$PWD/tests/planted/}")
all=(tests/planted/*.patch)
[[ ${STANDS_IN:-} ]] || echo "note: of ${#all[@]} planted bugs are tried ${#patches[@]}: $(names "${patches[@]}")"

copy_tree() { # with its times: what is built is not older
  rm -rf "$tree"
  mkdir -p "$tree/target"
  git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [[ -e $file ]] && printf '%s\0' "$file"; done |
    xargs -0 cp --preserve --parents -t "$tree"
  # Of folders, too: the build script is run again if one has changed.
  (cd "$tree" && find . -type d -exec bash -c 'for folder; do touch -r "$0/$folder" "$folder"; done' "$OLDPWD" {} +)
  # A repository of its own, or git would apply the patches to the one around it.
  git -C "$tree" init -q
}

# Links, but for what cargo and rustc write in place: through a link cargo would take the tree itself for changed.
copy_what_is_built() {
  rm -rf "$home/debug"
  mkdir -p "$home/debug"
  flock target/debug/.cargo-lock bash -euc '
    cp -al target/debug/{build,deps,incremental} "$0"
    rm -r "$0"/build/heartline-* "$0"/deps/*.d
    cp -a target/debug/build/heartline-* "$0/build"
    cp -a target/debug/deps/*.d "$0/deps"
    cp -a target/debug/.fingerprint "$0"' "$home/debug"
}

# Begins this script anew, with the copies in the places of what they are copies of, for this process and its children. So
# a patch changes what nothing else reads, and cargo builds no more than what follows from it.
stand_in_for_the_tree() {
  unshare --mount true ||
    die "mounts take root; run: sudo tests/run planted (in a container: one with --cap-add SYS_ADMIN)"
  STANDS_IN=1 exec unshare --mount bash -euc '
    mount --bind "$1/debug" target/debug
    mount --rbind target "$1/tree/target"
    mount --rbind "$1/tree" "$PWD"
    cd "$PWD"
    exec bash "$0"' "$0" "$home"
}

build() { # [KIND]: what the bug is in, or everything. Binaries come with tests of their packages.
  local test=(cargo test --locked --no-run)
  case ${1:-} in
    unit) "${test[@]}" --workspace --lib ;;
    library | redis | valkey | cassandra | mongo) "${test[@]}" --test library ;;
    gateway | gateway-redis) "${test[@]}" --test gateway ;;
    auditor) "${test[@]}" --workspace --test tidy --test real_gateway ;;
    '') "${test[@]}" --workspace --lib --test library --test gateway --test real_gateway ;;
    *) die "no kind of test is called $1" ;;
  esac
}

built() { # KIND NAME...: the file
  case $1 in
    unit) sed -nE "s|^ *Executable unittests .*\((.*/heartline_${2%%::*}-[0-9a-f]*)\)\$|\1|p" "$TMPDIR/executables" ;;
    gateway | gateway-redis) sed -n 's|^ *Executable tests/gateway/main.rs (\(.*\))$|\1|p' "$TMPDIR/executables" ;;
    auditor) echo "$HEARTLINE_BIN" ;;
    *) sed -n 's|^ *Executable tests/library.rs (\(.*\))$|\1|p' "$TMPDIR/executables" ;;
  esac
}

run_test() { # FILE KIND NAME...: its status; what it said is in $output
  local file=$1 kind=$2 name=$3
  # A search goes on for as long as it does in the long version: some bugs are rare.
  local -x LONG=1
  case $kind in
    unit) "$file" --exact "${name#*::}" ;;
    gateway | library) "$file" --exact "$name" ;;
    gateway-redis | redis | cassandra | mongo) "$file" --ignored --exact "$name" ;;
    valkey) HEARTLINE_TEST_REDIS_SERVER=$VALKEY "$file" --ignored --exact "$name" ;;
    auditor) "$PYTHON" -m "$name" "$file" "${@:4}" ;;
  esac >"$output" 2>&1
}

named_by() { # PATCH: its test, as words
  sed -n 's/^Caught-by: //p' "$1"
}

if [[ $PREPARING && ${#patches[@]} -gt 0 ]]; then
  compile test --workspace --no-run
  copy_what_is_built
  copy_tree
fi
ready
[[ ${#patches[@]} -gt 0 ]] || exit 0
[[ ${STANDS_IN:-} ]] || stand_in_for_the_tree

trap 'end_cassandra; end_mongo' EXIT
! grep -q '^Caught-by: cassandra ' "${patches[@]}" || start_cassandra
! grep -q '^Caught-by: mongo ' "${patches[@]}" || start_mongo
build >"$TMPDIR/executables" 2>&1 || die "the tree does not build: $(tail -n 30 "$TMPDIR/executables")"

# Two run side by side, and both may complain.
failures=$TMPDIR/failures
: >"$failures"
exec 3>&1
complain() { # WHAT
  echo "$*" >>"$failures"
  echo "not ok  $*" >&3
  [[ -f $output ]] && tail -n 30 "$output" >&3
  return 0
}

passes() { # BUG FILE KIND NAME...: without the patch
  local bug=$1 kind=$3
  if ! run_test "${@:2}"; then
    complain "$bug: ${*:3} fails without the patch"
  elif [[ $kind != auditor ]] && ! grep -q '1 passed' "$output"; then
    complain "$bug: there is no test called ${*:4}"
  fi
}

catches() { # BUG FILE KIND NAME...: with it
  local bug=$1 kind=$3 began=$SECONDS itself='1 failed; 0 ignored'
  [[ $kind != auditor ]] || itself='^FAULT '
  if run_test "${@:2}"; then
    complain "$bug: ${*:3} did not catch it"
  elif ! grep -q "$itself" "$output"; then
    complain "$bug: ${*:3} fell over something else"
  else
    took_turn plants "$bug.patch"
    echo "ok  $bug: caught by ${*:3} ($((SECONDS - began)) s)" >&3
  fi
}

judge() { # passes|catches BUG KIND NAME...: runs it at once, or prints the command to run with what is built now
  local file kept=$TMPDIR/$1-$2
  file=$(built "${@:3}")
  rm -f "$output"
  if [[ $3 == gateway* ]]; then
    # It starts the binary that is where cargo has put it.
    "$1" "$2" "$file" "${@:3}"
  else
    mkdir "$kept"
    cp "$file" "$kept"
    # The auditor may want the gateway's neighbour, too.
    ln -s "$CARGO_TARGET_DIR/debug/loadgen" "$kept"
    echo "$1 $2 $kept/${file##*/} ${*:3}"
  fi
}

build_all() { # prints what is to be run, once all that it needs is built
  local patch bug named left=0 output=$TMPDIR/output-of-build
  local -A held=()
  for patch in "${patches[@]}"; do
    bug=$(basename "$patch" .patch)
    read -ra named < <(named_by "$patch")
    [[ ${#named[@]} -gt 1 ]] || { complain "$bug: names no test"; continue; }
    # Once for all patches that name it.
    [[ -z ${held[${named[*]}]:-} ]] || continue
    held[${named[*]}]=1
    judge passes "$bug" "${named[@]}"
  done
  SECONDS=0
  for patch in "${patches[@]}"; do
    bug=$(basename "$patch" .patch)
    read -ra named < <(named_by "$patch")
    rm -f "$output"
    if [[ $SECONDS -gt $seconds_max ]]; then
      left=$((left + 1))
      continue
    fi
    if ! git apply "$patch"; then
      complain "$bug: does not apply any more"
      continue
    fi
    if build "${named[0]}" >"$output" 2>&1; then
      judge catches "$bug" "${named[@]}"
    else
      complain "$bug: does not build"
    fi
    git apply --reverse "$patch"
  done
  [[ $left == 0 ]] || echo "note: after $SECONDS s, $left planted bugs were left for another run" >&3
}

# While tests that take their time run, with a copy of what was built for them, the next patch is built.
output=$TMPDIR/output-of-test
build_all | while read -ra job; do
  rm -f "$output"
  "${job[@]}" </dev/null
  rm -r "${job[2]%/*}"
done
[[ ! -s $failures ]]
