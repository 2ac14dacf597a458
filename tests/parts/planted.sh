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
# With --long all are tried. Without it, an eighth is: first those that the change touches, then the others; among each,
# those that were not tried on this machine for the longest time. With --changed, only those that the change touches, and no
# more than an eighth of all. On a slow machine no new one is begun after 5 minutes. Notes say which were tried, and how many
# were left for another run.
. tests/parts/needs.bash
. tests/runner/change.bash
. tests/runner/dependencies.bash
need_cargo
need_command cc build-essential
need_command git git
need_command strace strace
need_library libfaketimeMT.so.1 faketime
need_python
need_redis
need_valkey
need_kafka
need_cassandra
need_mongo

# What the tree is built with is built already, for the other tests.
export HEARTLINE_BIN=$CARGO_TARGET_DIR/debug/heartline
# A bug that is not begun by then is left for another run.
seconds_max=300
[[ ! $LONG ]] || seconds_max=7200
tried=$(machine_cache) && tried=$tried/plants || tried=$TOOLS/plants
mkdir -p "$tried"

age_order() { # PATCH...: the one that was tried longest ago first, in random order where that is the same
  local patch
  for patch in "$@"; do
    echo "$(stat -c %Y "$tried/$(basename "$patch" .patch)" 2>/dev/null || echo 0) $RANDOM $patch"
  done | sort -n -k 1,1 -k 2,2 | cut -d ' ' -f 3
}

choose_patches() {
  local all=(tests/planted/*.patch) touched others most
  if [[ $LONG ]]; then
    patches=("${all[@]}")
    return
  fi
  mapfile -t touched < <(plants_touched)
  others=()
  [[ ${CHANGED:-} ]] || mapfile -t others < <(printf '%s\n' "${touched[@]}" | grep -vxFf - <(printf '%s\n' "${all[@]}"))
  most=$(((${#all[@]} + 7) / 8))
  mapfile -t patches < <({
    [[ ${#touched[@]} == 0 ]] || age_order "${touched[@]}"
    [[ ${#others[@]} == 0 ]] || age_order "${others[@]}"
  } | head -n "$most")
  echo "note: of ${#all[@]} planted bugs the change touches ${#touched[@]}; tried are ${#patches[@]}: $(names "${patches[@]}")"
}

names() { # PATCH...
  [[ $# == 0 ]] || basename --suffix=.patch "$@" | paste -sd ' '
}

choose_patches
[[ ${#patches[@]} -gt 0 ]] || exit 0
patches=("${patches[@]/#/$PWD/}")
tree=$TOOLS/planted

copy_tree() { # without old times: what is built from it must be seen as changed
  rm -rf "$tree"
  mkdir -p "$tree"
  git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [[ -e $file ]] && printf '%s\0' "$file"; done |
    xargs -0 cp --parents -t "$tree"
  # A repository of its own, or git would apply the patches to the one around it.
  git -C "$tree" init -q
}

build() { # KIND TARGET: what the bug is in; tests of the binary are built only once
  case $1 in
    unit) cargo test --locked --quiet --no-run --lib ;;
    library | redis | valkey | cassandra | mongo) cargo test --locked --quiet --no-run --test "$2" ;;
    *) cargo build --locked --quiet --bin heartline ;;
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

trap 'end_cassandra; end_mongo' EXIT
! grep -q '^Caught-by: cassandra ' "${patches[@]}" || start_cassandra
! grep -q '^Caught-by: mongo ' "${patches[@]}" || start_mongo

copy_tree
cd "$tree"
mapfile -t targets < <(sed -n 's/^Caught-by: \(cargo\|library\|redis\|valkey\|cassandra\|mongo\) \([a-z_]*\) .*/--test=\2/p' "${patches[@]}" | sort -u)
{ cargo test --locked --no-run --lib "${targets[@]}" && cargo build --locked --bins; } 2>"$TMPDIR/executables" ||
  die "the tree does not build: $(tail -n 30 "$TMPDIR/executables")"

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
    touch "$tried/$bug"
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
rm -rf "$tree"
[[ ! -s $failures ]]
