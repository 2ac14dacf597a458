# What needs no service, but gateways, while a day ends in UTC, and unit tests where clocks are put forward and back: the
# clock is set to half a minute before.
. tests/parts/needs.bash
need_library libfaketimeMT.so.1 faketime
compile test --workspace --no-run
ready
. tests/support/set_clock.bash

tests_at UTC "$(date --utc +%F) 23:59:30 UTC" --workspace --lib --test library
# Clocks of Berlin are put forward at 01:00 UTC on the first day, and back on the second.
tests_at Europe/Berlin '2031-03-30 00:59:30 UTC' --workspace --lib
tests_at Europe/Berlin '2031-10-26 00:59:30 UTC' --workspace --lib
