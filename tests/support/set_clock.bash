# Runs tests with the wall clock of tests and gateways set to another time. Their time limits go by the monotonic clock,
# which is left alone. But librdkafka waits by the wall clock of the kernel, and a process starts at it: what depends on
# these is left out.
library=$(find /usr/lib -name libfaketimeMT.so.1 -print -quit)
triple=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')

tests_at() { # ZONE DATE TESTS...
  local ahead
  ahead=$(($(date --date "$2" +%s) - $(date +%s)))
  echo "--- at $2, in $1"
  env "CARGO_TARGET_${triple}_RUNNER=env TZ=$1 LD_PRELOAD=$library FAKETIME=+${ahead}s FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1" \
    cargo test --locked --no-fail-fast "${@:3}" -- \
    --skip kafka_bus:: --skip bus_away:: --skip the_program_and_its_process_are_measured
}
