# Runs parts, and keeps account of how they end.

declare -A running=() # process group of a part: its name
declare -A began=()
declare -A verdicts=() # of a part: its line of the summary
passed=() failed=() flaky=()

# Lines of a log that tell what failed, in the words of cargo, Python and the tests' own tools.
fault='^test .* FAILED$|panicked at |^error|^FAIL|^FAULT|^not ok|^Traceback|Error: |: command not found'

# More parts than this that pass only when they are run again fail the run: retries are for chance, not for defects.
flaky_max=2
# More failed parts than this are not run again: that is no chance.
again_max=5
# Nor is any after so many seconds: a run that takes too long says less than one that ends.
again_until=4500

end_all() { # a part and all it started are one process group, led by its timeout
  local group
  for group in "${!running[@]}"; do kill -KILL -- "-$group" 2>/dev/null; done
}

start() { # PART
  local name=$1 log=$logs/$1.log
  # Not the bare name: a part may look for a folder of that name in the paths of files.
  mkdir -p "$TMPDIR/part-$name"
  # TIMEFORMAT: seconds of the clock, and of all processors.
  TMPDIR=$TMPDIR/part-$name timeout --kill-after=10 "$seconds_max" \
    bash -c 'TIMEFORMAT="%R %U %S"; time bash "$0" 3>&2 2>&1' "tests/parts/$name.sh" </dev/null >"$log" 2>"$log.time" &
  running[$!]=$name
  began[$name]=$SECONDS
}

finish() { # waits for any part; its name and exit code are in $ended and $code
  local group work log
  code=0
  wait -n -p group "${!running[@]}" || code=$?
  [[ -n ${group:-} ]] || return
  ended=${running[$group]}
  kill -KILL -- "-$group" 2>/dev/null
  unset "running[$group]"
  log=$logs/$ended.log
  work=$(tail -n 1 "$log.time" | awk 'NF == 3 { printf "%.0f", $2 + $3 }')
  rm -rf "$log.time" "${TMPDIR:?}/part-$ended"
  verdicts[$ended]=$(printf '%-13s %5d s, %5s s of work' "$ended" $((SECONDS - began[$ended])) "${work:-?}")
}

judge() { # what has just finished
  if [[ $code == 0 ]]; then
    verdicts[$ended]="ok    ${verdicts[$ended]}"
    passed+=("$ended")
    [[ ${#chosen[@]} -gt 0 ]] || { grep '^note: ' "$logs/$ended.log"; tail -n 3 "$logs/$ended.log"; }
  else
    [[ $code != 124 ]] || code="not done after $seconds_max s"
    verdicts[$ended]="FAIL  ${verdicts[$ended]} (exit code $code; target/tests/logs/$ended.log)"
    failed+=("$ended")
    echo "== $ended, the end of its log:"
    tail -n 120 "$logs/$ended.log"
  fi
  echo "${verdicts[$ended]}"
}

run_side_by_side() { # MOST PART...
  local most=$1 name
  shift
  for name in "$@"; do
    if [[ ${#running[@]} -ge $most ]]; then
      finish
      judge
    fi
    start "$name"
  done
  while [[ ${#running[@]} -gt 0 ]]; do
    finish
    judge
  done
}

run_alone() { # PART
  start "$1"
  finish
  judge
}

run_in_sight() { # PART: its log is on the terminal, too
  local shown
  start "$1"
  tail --pid="${!running[*]}" --sleep-interval=0.2 --lines=+1 --follow "$logs/$1.log" &
  shown=$!
  finish
  wait "$shown"
  judge
}

run_failed_again() { # each alone, in the order of the table; one that passes now is flaky
  local name once
  mapfile -t once < <(all_parts | grep -xFf <(printf '%s\n' "${failed[@]}"))
  if [[ ${#once[@]} -gt $again_max ]]; then
    echo "${#once[@]} parts failed: more than $again_max are not run again"
    return
  fi
  if [[ ${#once[@]} -gt 0 && $SECONDS -gt $again_until ]]; then
    echo "after $SECONDS s, no part is run again"
    return
  fi
  failed=()
  for name in "${once[@]}"; do
    if ! may_run_again "$name"; then
      failed+=("$name")
      continue
    fi
    echo "== $name, once more"
    mv "$logs/$name.log" "$logs/$name.first.log"
    run_alone "$name"
    if [[ $code == 0 ]]; then
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
    grep -nE "$fault" "$logs/$name.log" | cut -c1-300 | head -n 20
  done
  echo
  [[ ${#flaky[@]} == 0 ]] || echo "flaky: ${flaky[*]}"
  if [[ ${#flaky[@]} -gt $flaky_max ]]; then
    echo "more than $flaky_max parts are flaky: they count as failed"
    failed+=("${flaky[@]}")
  fi
  echo "$((SECONDS / 60)) min $((SECONDS % 60)) s"
  echo "$((${#verdicts[@]} - ${#failed[@]})) passed, ${#failed[@]} failed"
  [[ ${#failed[@]} == 0 ]]
}
