# Planted bugs: each patch of tests/planted is applied to a copy of the tree, and must make the test it names fail.
#
# A patch begins with what is wrong, and names the test in a line of its own:
#   Caught-by: cargo TARGET NAME      an integration test of the binary, exactly this one
#   Caught-by: unit NAME              a unit test, exactly this one
#   Caught-by: library TARGET NAME    an integration test of the library, exactly this one
#   Caught-by: redis TARGET NAME      an integration test of the library that needs Redis, exactly this one
#   Caught-by: valkey TARGET NAME     the same, on Valkey
#   Caught-by: cassandra TARGET NAME  the same, on Cassandra
#   Caught-by: mongo TARGET NAME      the same, on what speaks MongoDB's protocol
#   Caught-by: auditor MODULE [ARG]   `python -m MODULE BINARY [ARG...]`
# Without a patch the same tests must pass: a test that always fails catches nothing.
#
# With --long all are tried. Without it, a handful is: first those that the change touches, then the others; among each, those
# that were not tried on this machine for the longest time. With --changed, only those that the change touches. On a slow
# machine no new one is begun after two and a half minutes. Notes say which were tried, and how many were left for another run.
. tests/parts/needs.bash
. tests/runner/change.bash
. tests/runner/dependencies.bash
. tests/runner/turns.bash
need_command git git
need_command strace strace
need_library libfaketimeMT.so.1 faketime
need_python
need_redis
need_valkey
need_kafka
need_cassandra
need_mongo

handful=5
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
echo "note: of ${#all[@]} planted bugs are tried ${#patches[@]}: $(names "${patches[@]}")"

copy_tree() { # without old times: what is built from it must be seen as changed
  rm -rf "$tree"
  mkdir -p "$tree"
  git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [[ -e $file ]] && printf '%s\0' "$file"; done |
    xargs -0 cp --parents -t "$tree"
  # A repository of its own, or git would apply the patches to the one around it.
  git -C "$tree" init -q
}

# With an integration test come the binaries. `cargo build` would build all dependencies once more: tests have other features.
binaries=(--test tidy)

build() { # KIND TARGET: what the bug is in; tests of the binary are built only once
  case $1 in
    unit) cargo test --locked --quiet --no-run --lib ;;
    library | redis | valkey | cassandra | mongo) cargo test --locked --quiet --no-run --test "$2" ;;
    *) cargo test --locked --quiet --no-run "${binaries[@]}" ;;
  esac
}

built() { # KIND TARGET: the file
  case $1 in
    unit) sed -n 's|^ *Executable unittests src/lib.rs (\(.*\))$|\1|p' "$TMPDIR/executables" ;;
    cargo | library | redis | valkey | cassandra | mongo) sed -n "s|^ *Executable tests/$2[./].* (\(.*\))$|\1|p" "$TMPDIR/executables" ;;
    auditor) echo "$HEARTLINE_BIN" ;;
    *) die "no kind of test is called $1" ;;
  esac
}

run_test() { # FILE KIND NAME...: its status; what it said is in $output
  local file=$1 kind=$2
  shift 2
  case $kind in
    cargo | library) "$file" --exact "$2" ;;
    unit) "$file" --exact "$1" ;;
    redis | cassandra | mongo) "$file" --ignored --exact "$2" ;;
    valkey) HEARTLINE_TEST_REDIS_SERVER=$VALKEY "$file" --ignored --exact "$2" ;;
    auditor) PYTHONPATH=$tree/tests "$PYTHON" -m "$1" "$file" "${@:2}" ;;
  esac >"$output" 2>&1
}

named_by() { # PATCH: its test, as words
  sed -n 's/^Caught-by: //p' "$1"
}

# A copy of the tree is built in a folder of its own: cargo would take it for the tree itself, and others would wait for it.
if [[ $PREPARING && ${#patches[@]} -gt 0 ]]; then
  compile test --no-run
  if [[ $(cat "$home/key" 2>/dev/null) != "$(dependencies_key)" ]]; then
    rm -rf "$home/target"
    link_built_dependencies debug "$home/target" || die "what is built cannot be linked to"
    dependencies_key >"$home/key"
  fi
  copy_tree
fi
export CARGO_TARGET_DIR=$home/target HEARTLINE_BIN=$home/target/debug/heartline
build_tree() { # prints where its executables are
  local targets
  mapfile -t targets < <(sed -n 's/^Caught-by: \(cargo\|library\|redis\|valkey\|cassandra\|mongo\) \([a-z_]*\) .*/--test=\2/p' "${patches[@]}" | sort -u)
  cargo test --locked --no-run --lib "${binaries[@]}" "${targets[@]}" 2>&1
}
[[ ! $PREPARING || ${#patches[@]} == 0 ]] || (cd "$tree" && build_tree) || die "the tree does not build"
ready
[[ ${#patches[@]} -gt 0 ]] || exit 0

trap 'end_cassandra; end_mongo' EXIT
! grep -q '^Caught-by: cassandra ' "${patches[@]}" || start_cassandra
! grep -q '^Caught-by: mongo ' "${patches[@]}" || start_mongo
cd "$tree"
build_tree >"$TMPDIR/executables" || die "the tree does not build: $(tail -n 30 "$TMPDIR/executables")"

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
  if [[ $3 == cargo ]]; then
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
    if build "${named[@]}" >"$output" 2>&1; then
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
