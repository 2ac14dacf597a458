# Prepares parts, runs them, and keeps account of how they end.
#
# A part's script runs twice: at first with PREPARING set, until `ready` (needs.bash), which installs and compiles all that
# it needs; then whole. Only the second time counts for its limit.

declare -A running=() # process group of a part: its name
declare -A began=()
declare -A took=() # of a part: seconds of the clock
declare -A prepared=() # of a part: what preparing it took
declare -A verdicts=() # of a part: its line of the summary
passed=() failed=() flaky=()
declare -i prepare_work=0 run_work=0 # seconds of all processors

# Lines of a log that tell what failed, in the words of cargo, Python and the tests' own tools.
fault='^test .* FAILED$|panicked at |^error|^FAIL|^FAULT|^not ok|^Traceback|Error( \[[A-Z_]+\])?: |: command not found'

# Their temporary files are in memory: each of 700 tests starts a gateway, which makes and syncs hundreds of files. Audits that
# kill need a disk: there a sync takes a while, and a kill falls into it.
parts_in_memory=(unit gateway-redis gateway-storeless)
# On a new machine this is the release build.
prepare_seconds_max=4000
# More parts than this that pass only when they are run again fail the run: retries are for chance, not for defects.
flaky_max=2
# More failed parts than this are not run again: that is no chance.
again_max=5
# Nor is one that would end after so many seconds of the run, if it takes as long as before: CI gives a run 90 minutes.
again_until=${AGAIN_UNTIL:-5100}

end_all() { # a part and all it started are one process group, led by its timeout
  local group
  for group in "${!running[@]}"; do kill -KILL -- "-$group" 2>/dev/null; done
}

start() { # prepare|run PART
  local pass=$1 name=$2 log seconds_max=$prepare_seconds_max
  log=$(log_of "$pass" "$name")
  if [[ $pass == prepare ]]; then rm -f "$logs/$name.log"; else seconds_max=$(limit_of "$name"); fi
  mkdir -p "$(scratch_of "$name")"
  : >"$log"
  # TIMEFORMAT: seconds of the clock, and of all processors.
  PREPARING=$([[ $pass == run ]] || echo 1) TMPDIR=$(scratch_of "$name") timeout --kill-after=10 "$seconds_max" \
    bash -c 'TIMEFORMAT="%R %U %S"; time bash "$0" 3>&2 2>&1' "tests/parts/$name.sh" </dev/null >"$log" 2>"$log.time" &
  running[$!]=$name
  began[$name]=$SECONDS
}

# Not the bare name: a part may look for a folder of that name in the paths of files.
scratch_of() { # PART
  if [[ " ${parts_in_memory[*]} " == *" $1 "* ]]; then echo "$in_memory/part-$1"; else echo "$TMPDIR/part-$1"; fi
}

log_of() { # prepare|run PART
  if [[ $1 == prepare ]]; then echo "$logs/$2.prepare.log"; else echo "$logs/$2.log"; fi
}

finish() { # prepare|run: waits for any part; its name, exit code and seconds of the clock and of work are in variables
  local group log
  code=0
  wait -n -p group "${!running[@]}" || code=$?
  [[ -n ${group:-} ]] || return
  ended=${running[$group]}
  kill -KILL -- "-$group" 2>/dev/null
  unset "running[$group]"
  log=$(log_of "$1" "$ended")
  clock=$((SECONDS - began[$ended]))
  work=$(tail -n 1 "$log.time" | awk 'NF == 3 { printf "%.0f", $2 + $3 }')
  rm -rf "$log.time" "$(scratch_of "$ended")"
}

judge_prepared() { # what was prepared just now
  prepare_work+=${work:-0}
  if [[ $code == 0 ]]; then
    prepared[$ended]="$clock s, ${work:-?} s of work"
  else
    reject "$ended" "exit code $code while it was prepared" "$logs/$ended.prepare.log"
  fi
}

judge() { # what has run just now
  local figures
  run_work+=${work:-0}
  took[$ended]=$clock
  figures=$(printf '%-16s %4d s of %4d, %4s s of work; prepared in %s' \
    "$ended" "$clock" "$(limit_of "$ended")" "${work:-?}" "${prepared[$ended]}")
  if [[ $code == 0 ]]; then
    verdicts[$ended]="ok    $figures"
    passed+=("$ended")
    took_turn parts "$ended"
    [[ ${#chosen[@]} -gt 0 ]] || { grep '^note: ' "$logs/$ended.log"; tail -n 3 "$logs/$ended.log"; }
    echo "${verdicts[$ended]}"
  elif [[ $code == 124 ]]; then
    reject "$ended" "over its limit of $(limit_of "$ended") s" "$logs/$ended.log"
  else
    reject "$ended" "exit code $code after $clock s" "$logs/$ended.log"
  fi
}

reject() { # PART WHY LOG
  verdicts[$1]=$(printf 'FAIL  %-16s %s; target/tests/logs/%s' "$1" "$2" "${3##*/}")
  failed+=("$1")
  echo "== $1, the end of its log:"
  tail -n 120 "$3"
  echo "${verdicts[$1]}"
}

prepare_all() { # PART...: two at a time, since much of a build keeps only one core busy
  local name began_all=$SECONDS
  for name in "$@"; do
    if [[ ${#running[@]} -ge 2 ]]; then
      finish prepare
      judge_prepared
    fi
    start prepare "$name"
  done
  while [[ ${#running[@]} -gt 0 ]]; do
    finish prepare
    judge_prepared
  done
  echo "prepared ${#prepared[@]} parts in $((SECONDS - began_all)) s, $prepare_work s of work"
}

# Each on a core; one that waits most of its time takes half of one. The first that there is room for is the next one.
run_side_by_side() { # CORES PART...
  local halves=$((2 * $1)) name waiting=()
  shift
  for name in "$@"; do [[ ! ${prepared[$name]:-} ]] || waiting+=("$name"); done
  while [[ ${#waiting[@]} -gt 0 || ${#running[@]} -gt 0 ]]; do
    if name=$(first_with_room $((halves - $(halves_of "${running[@]}"))) "${waiting[@]}"); then
      start run "$name"
      mapfile -t waiting < <(printf '%s\n' "${waiting[@]}" | grep -vxF "$name")
    else
      finish run
      judge
    fi
  done
}

first_with_room() { # HALVES PART...
  local room=$1 name
  for name in "${@:2}"; do
    if (($(halves_of "$name") <= room)); then
      echo "$name"
      return
    fi
  done
  return 1
}

halves_of() { # PART...: of cores
  local name halves=0
  for name in "$@"; do
    if [[ $(column_of "$name" 2) == waits ]]; then halves=$((halves + 1)); else halves=$((halves + 2)); fi
  done
  echo "$halves"
}

run_in_sight() { # PART: its logs are on the terminal, too
  in_sight prepare "$1"
  judge_prepared
  [[ ${prepared[$1]:-} ]] || return
  in_sight run "$1"
  judge
}

in_sight() { # prepare|run PART
  local shown
  start "$1" "$2"
  tail --pid="${!running[*]}" --sleep-interval=0.2 --lines=+1 --follow "$(log_of "$1" "$2")" &
  shown=$!
  finish "$1"
  wait "$shown"
}

run_failed_again() { # each alone, in the order of the table; one that passes now is flaky
  local name once
  mapfile -t once < <(all_parts | grep -xFf <(printf '%s\n' "${failed[@]}"))
  if [[ ${#once[@]} -gt $again_max ]]; then
    echo "${#once[@]} parts failed: more than $again_max are not run again"
    return
  fi
  failed=()
  for name in "${once[@]}"; do
    if ! may_run_again "$name"; then
      failed+=("$name")
      continue
    fi
    if ((SECONDS + ${took[$name]:-0} > again_until)); then
      echo "there is no time to run $name again"
      failed+=("$name")
      continue
    fi
    echo "== $name, once more"
    [[ ! -f $logs/$name.log ]] || mv "$logs/$name.log" "$logs/$name.first.log"
    [[ ${prepared[$name]:-} ]] || prepare_all "$name"
    run_side_by_side 1 "$name"
    if [[ ${verdicts[$name]} == ok* ]]; then
      flaky+=("$name")
      verdicts[$name]="flaky ${verdicts[$name]#ok    } (failed at first; target/tests/logs/$name.first.log and $name.log)"
    fi
  done
}

summarize() { # its status is that of the run
  local name
  for name in "${passed[@]}" "${failed[@]}"; do echo "${verdicts[$name]}"; done
  # Last, where a short view of the run shows it.
  for name in "${failed[@]}"; do
    echo "== $name"
    cat "$logs/$name".{prepare.,}log 2>/dev/null | grep -nE "$fault" | cut -c1-300 | head -n 20
  done
  echo
  [[ ${#flaky[@]} == 0 ]] || echo "flaky: ${flaky[*]}"
  if [[ ${#flaky[@]} -gt $flaky_max ]]; then
    echo "more than $flaky_max parts are flaky: they count as failed"
    failed+=("${flaky[@]}")
  fi
  echo "$((SECONDS / 60)) min $((SECONDS % 60)) s; work: $prepare_work s to prepare, $run_work s to run"
  echo "$((${#verdicts[@]} - ${#failed[@]})) passed, ${#failed[@]} failed"
  [[ ${#failed[@]} == 0 ]]
}
