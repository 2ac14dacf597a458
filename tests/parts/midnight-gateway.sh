# Gateways while a day ends in UTC: the clock is set to half a minute before.
. tests/parts/needs.bash
need_library libfaketimeMT.so.1 faketime
compile test --workspace --no-run
ready
. tests/support/set_clock.bash

tests_at UTC "$(date --utc +%F) 23:59:30 UTC" --workspace --test gateway
