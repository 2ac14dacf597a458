# Planted bugs: each patch of tests/planted is applied to a copy of the tree, and must make the test it names fail.
#
# A patch begins with what is wrong, and names the test in a line of its own:
#   Caught-by: cargo TARGET NAME      an integration test, exactly this one
#   Caught-by: unit NAME              a unit test, exactly this one
#   Caught-by: auditor MODULE [ARG]   `python -m MODULE BINARY [ARG...]`
# Without a patch the same tests must pass: a test that always fails catches nothing.
. tests/parts/needs.bash
need_cargo
need_command cc build-essential
need_command git git
need_command strace strace
need_python

export CARGO_TARGET_DIR=$PWD/target/planted
export HEARTLINE_BIN=$CARGO_TARGET_DIR/debug/heartline
# Nobody debugs these builds, and without that they are done sooner.
export CARGO_PROFILE_DEV_DEBUG=0
patches=$PWD/tests/planted
tree=$CARGO_TARGET_DIR/tree
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

build() { # KIND: the binary comes with the tests of it
  case $1 in
    unit) cargo test --locked --quiet --no-run --lib ;;
    *) cargo test --locked --quiet --no-run --test gateway ;;
  esac
}

run_test() { # KIND NAME...: its status; what it said is in $output
  local kind=$1
  shift
  case $kind in
    cargo) cargo test --locked --quiet --test "$1" -- --exact "$2" ;;
    unit) cargo test --locked --quiet --lib -- --exact "$1" ;;
    # Built here, too: the binary may still be that of another patch.
    auditor) build auditor && PYTHONPATH=$tree/tests "$PYTHON" -m "$1" "$HEARTLINE_BIN" "${@:2}" ;;
    *) die "no kind of test is called $kind" ;;
  esac >"$output" 2>&1
}

named_by() { # PATCH: its test, as words
  sed -n 's/^Caught-by: //p' "$1"
}

failed_itself() { # KIND: the test ran and failed, rather than something around it
  case $1 in
    cargo | unit) grep -q '1 failed; 0 ignored' "$output" ;;
    auditor) grep -q '^FAULT ' "$output" ;;
  esac
}

copy_tree
cd "$tree"
build gateway || die "the tree does not build"

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
  local patch=$1 bug
  bug=$(basename "$patch" .patch)
  shift
  if ! git apply "$patch"; then
    complain "$bug: does not apply any more"
    return
  fi
  if ! build "$1"; then
    complain "$bug: does not build"
  elif run_test "$@"; then
    complain "$bug: $* did not catch it"
  elif ! failed_itself "$1"; then
    complain "$bug: $* fell over something else"
  else
    echo "ok  $bug: caught by $*"
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
