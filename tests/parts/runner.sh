# tests/run itself, on parts that are made for it: what runs again, what counts as flaky, what a change touches.
. tests/parts/needs.bash
. tests/runner/table.bash
need_command git git
tree=$TMPDIR/tree
failures=0

complain() {
  echo "not ok  $*"
  failures=$((failures + 1))
}

# A part that passes, one that passes the second time, and one that never does.
steady='echo steady'
by_chance='[[ -e $TOOLS/$(basename "$0") ]] || { touch "$TOOLS/$(basename "$0")"; echo "the first time"; exit 1; }; echo "the second time"'
broken='echo broken; exit 1'

begin() { # WHAT: an empty tree with the real runner
  scenario=$1
  rm -rf "$tree"
  mkdir -p "$tree/tests/runner" "$tree/tests/parts" "$tree/tests/planted"
  cp tests/run "$tree/tests"
  cp tests/runner/*.bash "$tree/tests/runner"
  echo '/target' >"$tree/.gitignore"
}

part() { # NAME STAGE AGAIN SCRIPT [INPUT...]
  echo "$1 $2 $3 ${*:5}" >>"$tree/tests/runner/parts.table"
  echo "$4" >"$tree/tests/parts/$1.sh"
}

run() { # [ARGUMENT...]: its status and what it prints
  status=0
  output=$(env -u HOME -u XDG_CACHE_HOME -u CHANGE_BASE "$tree/tests/run" "$@" 2>&1) || status=$?
}

ends_with() { # STATUS CLOSING-LINE [LINE...]: lines that it also prints
  local line
  [[ $status == "$1" ]] || complain "$scenario: status $status instead of $1"
  [[ $(tail -n 1 <<<"$output") == "$2" ]] || complain "$scenario: closes with '$(tail -n 1 <<<"$output")' instead of '$2'"
  for line in "${@:3}"; do
    grep -qxF "$line" <<<"$output" || complain "$scenario: '$line' is missing in: $output"
  done
  echo "done: $scenario"
}

log() { cat "$tree/target/tests/logs/$1" 2>/dev/null || echo "no $1"; }

begin 'a part that fails by chance'
part calm debug no "$steady"
part shaky release yes "$by_chance"
part shy alone yes "$by_chance"
run
ends_with 0 '3 passed, 0 failed' 'flaky: shaky shy' '== shaky, once more'
[[ $(log shaky.first.log) == 'the first time' && $(log shaky.log) == 'the second time' ]] ||
  complain "$scenario: the logs say '$(log shaky.first.log)' and '$(log shaky.log)'"

begin 'a build'
part late debug no '[[ -e $TOOLS/built ]]' '*'
part built build no 'touch "$TOOLS/built"' '*'
run
ends_with 0 '2 passed, 0 failed'

begin 'three parts that fail by chance'
for name in one two three; do part "$name" release yes "$by_chance"; done
run
ends_with 1 '0 passed, 3 failed' 'flaky: one two three'

begin 'a part that fails twice'
part calm debug yes "$steady"
part wrong debug yes "$broken"
run
ends_with 1 '1 passed, 1 failed' '== wrong, once more'

begin 'a part that may not run again'
part strict debug no "$by_chance"
run
ends_with 1 '0 passed, 1 failed'
[[ $output != *'once more'* ]] || complain "$scenario: it ran again"

begin 'many failed parts'
for name in one two three four five six; do part "$name" release yes "$by_chance"; done
run
ends_with 1 '0 passed, 6 failed' '6 parts failed: more than 5 are not run again'

begin 'one part by its name'
part wanted debug yes "$by_chance"
part other debug yes "$broken"
run wanted
ends_with 0 '1 passed, 0 failed' 'flaky: wanted'
run absent
[[ $status == 2 && $output == *'no part is called absent; there are: wanted other' ]] || complain "$scenario: $output"

begin 'what a change touches'
part always debug no "$steady" '*'
part server release yes "$steady" src/server.rs
part client release yes "$steady" src/client docs
part bugs release yes "$steady" @plants
printf 'Caught-by: unit x\n+++ b/src/server.rs\n' >"$tree/tests/planted/bug.patch"
mkdir -p "$tree/src"
touch "$tree/src/server.rs" "$tree/src/client.rs"
commit=(git -C "$tree" -c user.name=runner -c user.email=runner@localhost commit --quiet --all --message)
git -C "$tree" init --quiet
git -C "$tree" add .
GIT_COMMITTER_DATE='2001-01-01T00:00:00Z' "${commit[@]}" 'long ago'
run --changed
ends_with 0 '1 passed, 0 failed' 'the change touches: always'
echo new >"$tree/src/client.rs"
"${commit[@]}" 'just now'
run --changed
ends_with 0 '2 passed, 0 failed' 'the change touches: always client'
touch "$tree/src/server.rs.new"
run --changed
ends_with 0 '4 passed, 0 failed' 'the change touches: always server client bugs'

# The table of this tree.
missing=$(comm -3 <(all_parts | sort) <(cd tests/parts && printf '%s\n' *.sh | sed 's/\.sh$//' | sort))
[[ -z $missing ]] || complain "in the table or in tests/parts, but not in both: $missing"
for name in $(all_parts); do
  while IFS= read -r input; do
    case $input in
      '*' | @plants) ;;
      *) [[ $(compgen -G "$input*") ]] || complain "$name is touched by $input, which does not exist" ;;
    esac
  done < <(inputs_of "$name")
done

[[ $failures == 0 ]]
