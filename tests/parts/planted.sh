# Planted bugs: each patch of tests/planted is applied to a copy of the tree, and must make the test it names fail.
#
# A patch begins with what is wrong, and names the test in a line of its own:
#   Caught-by: cargo TARGET NAME      an integration test, exactly this one
#   Caught-by: unit NAME              a unit test, exactly this one
#   Caught-by: redis TARGET NAME      an integration test of the library that needs Redis, exactly this one
#   Caught-by: auditor MODULE [ARG]   `python -m MODULE BINARY [ARG...]`
# Without a patch the same tests must pass: a test that always fails catches nothing.
. tests/parts/needs.bash
need_cargo
need_command cc build-essential
need_command git git
need_command strace strace
need_python
need_redis
need_kafka

# What the tree is built with is built already, for the other tests.
export HEARTLINE_BIN=$CARGO_TARGET_DIR/debug/heartline
patches=$PWD/tests/planted
tree=$TOOLS/planted
output=$TMPDIR/planted-output

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
    redis) cargo test --locked --quiet --no-run --test "$2" ;;
    *) cargo build --locked --quiet --bin heartline ;;
  esac
}

executable() { # TARGET: the integration tests of that name
  sed -n "s|^ *Executable tests/$1[./].* (\(.*\))$|\1|p" "$TMPDIR/executables"
}

run_test() { # KIND NAME...: its status; what it said is in $output
  local kind=$1
  shift
  case $kind in
    cargo) "$(executable "$1")" --exact "$2" ;;
    unit) cargo test --locked --quiet --lib -- --exact "$1" ;;
    redis) "$(executable "$1")" --ignored --exact "$2" ;;
    auditor) PYTHONPATH=$tree/tests "$PYTHON" -m "$1" "$HEARTLINE_BIN" "${@:2}" ;;
    *) die "no kind of test is called $kind" ;;
  esac >"$output" 2>&1
}

named_by() { # PATCH: its test, as words
  sed -n 's/^Caught-by: //p' "$1"
}

failed_itself() { # KIND: the test ran and failed, rather than something around it
  case $1 in
    cargo | unit | redis) grep -q '1 failed; 0 ignored' "$output" ;;
    auditor) grep -q '^FAULT ' "$output" ;;
  esac
}

copy_tree
cd "$tree"
mapfile -t targets < <(sed -n 's/^Caught-by: \(cargo\|redis\) \([a-z_]*\) .*/--test=\2/p' "$patches"/*.patch | sort -u)
{ cargo test --locked --no-run --lib "${targets[@]}" && cargo build --locked --bins; } 2>"$TMPDIR/executables" ||
  die "the tree does not build: $(tail -n 30 "$TMPDIR/executables")"

failures=0
complain() {
  failures=$((failures + 1))
  echo "not ok  $*"
  [[ -f $output ]] && tail -n 30 "$output"
  return 0
}

passes() { # BUG KIND NAME...: without the patch
  local bug=$1
  shift
  if ! run_test "$@"; then
    complain "$bug: $* fails without the patch"
  elif [[ $1 != auditor ]] && ! grep -q '1 passed' "$output"; then
    complain "$bug: there is no test called ${*:2}"
  fi
}

catches() { # PATCH KIND NAME...
  local patch=$1 bug began=$SECONDS
  bug=$(basename "$patch" .patch)
  shift
  if ! git apply "$patch"; then
    complain "$bug: does not apply any more"
    return
  fi
  if ! build "$1" "${2-}"; then
    complain "$bug: does not build"
  elif run_test "$@"; then
    complain "$bug: $* did not catch it"
  elif ! failed_itself "$1"; then
    complain "$bug: $* fell over something else"
  else
    echo "ok  $bug: caught by $* ($((SECONDS - began)) s)"
  fi
  git apply --reverse "$patch"
}

# First all tests on the tree as it is, which is built once for them.
for round in passes catches; do
  for patch in "$patches"/*.patch; do
    rm -f "$output"
    bug=$(basename "$patch" .patch)
    read -ra named < <(named_by "$patch")
    case $round/${#named[@]} in
      passes/[01]) complain "$bug: names no test" ;;
      passes/*) passes "$bug" "${named[@]}" ;;
      catches/[01]) ;;
      catches/*) catches "$patch" "${named[@]}" ;;
    esac
  done
done
rm -rf "$tree"
[[ $failures == 0 ]]
