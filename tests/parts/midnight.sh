# What needs no service, while a day ends in UTC, and unit tests where clocks are put forward and back: the wall clock of tests
# and gateways is set to half a minute before. Their time limits go by the monotonic clock, which is left alone. But librdkafka
# waits by the wall clock of the kernel, and a process starts at it: what depends on these is left out.
. tests/parts/needs.bash
need_library libfaketimeMT.so.1 faketime
compile test --workspace --no-run
ready
library=$(find /usr/lib -name libfaketimeMT.so.1 -print -quit)
triple=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')

tests_at() { # ZONE DATE
  local ahead
  ahead=$(($(date --date "$2" +%s) - $(date +%s)))
  echo "--- at $2, in $1"
  env "CARGO_TARGET_${triple}_RUNNER=env TZ=$1 LD_PRELOAD=$library FAKETIME=+${ahead}s FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1" \
    cargo test --locked --no-fail-fast "${@:3}" -- \
    --skip kafka_bus:: --skip bus_away:: --skip the_program_and_its_process_are_measured
}

tests_at UTC "$(date --utc +%F) 23:59:30 UTC" --workspace --lib --test library --test gateway
# Clocks of Berlin are put forward at 01:00 UTC on the first day, and back on the second.
tests_at Europe/Berlin '2031-03-30 00:59:30 UTC' --workspace --lib
tests_at Europe/Berlin '2031-10-26 00:59:30 UTC' --workspace --lib
