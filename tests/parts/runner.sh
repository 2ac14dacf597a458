# tests/run itself, on parts that are made for it: what is prepared, what runs again, what counts as flaky,
# what is over its limit, whose turn it is, what a change touches.
. tests/parts/needs.bash
. tests/runner/table.bash
need_command git git
ready
tree=$TMPDIR/tree
failures=0

complain() {
  echo "not ok  $*"
  failures=$((failures + 1))
}

# What parts begin with. One that passes, one that passes the second time, and one that never does:
prepare='[[ ! $PREPARING ]] || exit 0;'
steady="$prepare echo steady"
by_chance=$prepare'[[ -e $TOOLS/$(basename "$0") ]] || { touch "$TOOLS/$(basename "$0")"; echo "the first time"; exit 1; }; echo "the second time"'
broken="$prepare echo broken; exit 1"

begin() { # WHAT: an empty tree with the real runner
  scenario=$1
  rm -rf "$tree"
  mkdir -p "$tree/tests/runner" "$tree/tests/parts" "$tree/tests/planted"
  cp tests/run "$tree/tests"
  cp tests/runner/*.bash "$tree/tests/runner"
  echo '/target' >"$tree/.gitignore"
}

part() { # ROW SCRIPT [INPUT...]
  echo "$1 ${*:3}" >>"$tree/tests/runner/parts.table"
  echo "$2" >"$tree/tests/parts/${1%% *}.sh"
}

given=()
run() { # [ARGUMENT...]: its status and what it prints
  status=0
  output=$(env -u HOME -u XDG_CACHE_HOME -u CHANGE_BASE "${given[@]}" "$tree/tests/run" "$@" 2>&1) || status=$?
}

commit=(git -C "$tree" -c user.name=runner -c user.email=runner@localhost commit --quiet --all --message)
commit_long_ago() {
  git -C "$tree" init --quiet
  git -C "$tree" add .
  GIT_COMMITTER_DATE='2001-01-01T00:00:00Z' "${commit[@]}" 'long ago'
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
part "calm beside each 1 no" "$steady"
part "shaky beside each 1 yes" "$by_chance"
part "shy alone each 1 yes" "$by_chance"
run
ends_with 0 '3 passed, 0 failed' 'flaky: shaky shy' '== shaky, once more'
[[ $(log shaky.first.log) == 'the first time' && $(log shaky.log) == 'the second time' ]] ||
  complain "$scenario: the logs say '$(log shaky.first.log)' and '$(log shaky.log)'"

begin 'what is needed is there before the first part runs'
part 'early beside each 1 no' '[[ $PREPARING || -e $TOOLS/built ]]'
part 'late beside each 1 no' '[[ ! $PREPARING ]] || touch "$TOOLS/built"'
run
ends_with 0 '2 passed, 0 failed'

begin 'a part that cannot be prepared'
part 'calm beside each 1 no' "$steady"
part 'needy beside each 1 yes' '[[ $PREPARING ]] || echo it ran; exit 1'
run
ends_with 1 '1 passed, 1 failed'
[[ $output != *'it ran'* && ! -e $tree/target/tests/logs/needy.log ]] || complain "$scenario: it ran"

begin 'a part that is over its limit'
part 'endless beside each 0.02 no' "$prepare sleep 20"
run
ends_with 1 '0 passed, 1 failed' 'FAIL  endless          over its limit of 1 s; target/tests/logs/endless.log'

# How many of them run, as they see it themselves, at once.
together=$prepare'touch "$TOOLS/runs-$(basename "$0")"; most=0
for _ in {1..20}; do count=$(ls "$TOOLS"/runs-* | wc -l); most=$((count > most ? count : most)); sleep 0.05; done
rm "$TOOLS/runs-$(basename "$0")"; echo "$most"'
two_cores() {
  mkdir -p "$tree/stubs"
  printf '#!/bin/sh\necho 2\n' >"$tree/stubs/nproc"
  chmod +x "$tree/stubs/nproc"
  given=("PATH=$tree/stubs:$PATH")
}
at_once() { cat "$tree"/target/tests/logs/{one,two,three}.log | sort -n | tail -n 1; }

begin 'parts that work run two at once on two cores'
for name in one two three; do part "$name beside each 1 no" "$together"; done
two_cores
run
given=()
ends_with 0 '3 passed, 0 failed'
[[ $(at_once) == 2 ]] || complain "$scenario: $(at_once) ran at once"

begin 'of parts that wait two count as one'
part 'one beside each 1 no' "$together"
part 'two waits each 1 no' "$together"
part 'other beside each 1 no' "$together"
part 'three waits each 1 no' "$together"
two_cores
run
given=()
ends_with 0 '4 passed, 0 failed'
[[ $(at_once) == 3 ]] || complain "$scenario: $(at_once) ran at once"

begin 'deep parts'
part 'shallow beside each 1 no' "$steady" '*'
for name in one two three; do part "$name beside deep 1 no" "$steady" "src/$name"; done
taken=()
for _ in 1 2 3; do
  run
  ends_with 0 '2 passed, 0 failed'
  taken+=("$(sed -n 's/^the deep part of this run: \(.*\); of 3: one two three$/\1/p' <<<"$output")")
  # Turns are told apart by the second.
  touch -d '1 minute ago' "$tree"/target/tests/turns/parts/*
done
[[ $(printf '%s\n' "${taken[@]}" | sort | paste -sd ' ') == 'one three two' ]] || complain "$scenario: taken were ${taken[*]}"
run --long
ends_with 0 '4 passed, 0 failed'
commit_long_ago
mkdir -p "$tree/src"
touch "$tree/src/two"
run
ends_with 0 '2 passed, 0 failed' 'the deep part of this run: two; of 1: two'
run --changed
ends_with 0 '2 passed, 0 failed' 'the change touches: shallow two'

begin 'a deep part on a release build'
part 'quick beside each 1 no' "$steady"
part 'rated alone deep 1 no' $'need_release_binary() { :; }\nneed_release_binary\n'"$steady"
run
ends_with 0 '1 passed, 0 failed'
# Dependencies were built before, but not for a release, or by hand.
mkdir -p "$tree/target/debug" "$tree/target/release"
run
ends_with 0 '1 passed, 0 failed'
# Of both.
touch "$tree/target/release/$WHOLE_RELEASE"
run
ends_with 0 '2 passed, 0 failed' 'the deep part of this run: rated; of 1: rated'

begin 'dependencies of other manifests'
part 'quick beside each 1 no' "$steady"
part 'rated alone deep 1 no' $'need_release_binary() { :; }\nneed_release_binary\n'"$steady"
kept=$tree/cache/heartline-tests/dependencies/others
mkdir -p "$kept/debug"
touch "$kept/debug/built"
given=("XDG_CACHE_HOME=$tree/cache")
run
given=()
# Some dependencies have to be built, so there is no time for a release build.
ends_with 0 '1 passed, 0 failed' "dependencies of the debug build: taken from $kept"
[[ -e $tree/target/debug/built ]] || complain "$scenario: they were not taken"

begin 'three parts that fail by chance'
for name in one two three; do part "$name beside each 1 yes" "$by_chance"; done
run
ends_with 1 '0 passed, 3 failed' 'flaky: one two three'

begin 'a part that fails twice'
part "calm beside each 1 yes" "$steady"
part "wrong beside each 1 yes" "$broken"
run
ends_with 1 '1 passed, 1 failed' '== wrong, once more'

begin 'a part that may not run again'
part "strict beside each 1 no" "$by_chance"
run
ends_with 1 '0 passed, 1 failed'
[[ $output != *'once more'* ]] || complain "$scenario: it ran again"

begin 'no time to run again'
part "late beside each 1 yes" "$by_chance"
given=(AGAIN_UNTIL=-1)
run
given=()
ends_with 1 '0 passed, 1 failed' 'there is no time to run late again'

begin 'many failed parts'
for name in one two three four five six; do part "$name beside each 1 yes" "$by_chance"; done
run
ends_with 1 '0 passed, 6 failed' '6 parts failed: more than 5 are not run again'

begin 'one part by its name'
part "wanted beside each 1 yes" "$by_chance"
part "other beside each 1 yes" "$broken"
run wanted
ends_with 0 '1 passed, 0 failed' 'flaky: wanted'
run absent
[[ $status == 2 && $output == *'no part is called absent; there are: wanted other' ]] || complain "$scenario: $output"

begin 'what a change touches'
part "always beside each 1 no" "$steady" '*'
part "server beside each 1 yes" "$steady" src/server.rs
part "client beside each 1 yes" "$steady" src/client docs
part "bugs beside each 1 yes" "$steady" @plants
printf 'Caught-by: unit x\n+++ b/src/server.rs\n' >"$tree/tests/planted/bug.patch"
mkdir -p "$tree/src"
touch "$tree/src/server.rs" "$tree/src/client.rs"
commit_long_ago
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
  grep -qx ready "tests/parts/$name.sh" || complain "$name is never ready: it would run while it is prepared"
  [[ $(LONG='' limit_of "$name") -le 1200 ]] || complain "$name may take more than 20 minutes"
done

[[ $failures == 0 ]]
