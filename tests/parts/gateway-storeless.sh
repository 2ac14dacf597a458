# The tests of tests/gateway once more, each gateway without a store and with a history service of its own. What is answered
# before a store is asked is left out, and so is what only the process with the store has: the demo, events' own tests,
# counters, views, and what is removed in the background. Without --long, what hardly depends on the store is left out, too.
. tests/parts/needs.bash
compile test --no-run --test gateway
ready
modules=(
  acks beats_over_http content_names deletes durability erasure finished history_over_http kicks lists names push recording rejections revocation
  rewards_credit rewards_flag rewards_http storeless two_gateways which_beat_wins
)
[[ ! $LONG ]] || modules+=(
  coalescing drain frames isolation list_rates live operations push_steady reads resume rewards_forgery rewards_race sequence
  steady_holds user_trace
)
skipped=(
  # Of the demo page, of gRPC, of Redis, and of MongoDB.
  drain::an_idle_http_connection demo_live:: grpc:: steady_holds::a_change_at_another_gateway carried_views::
)
filters=()
for module in "${modules[@]}"; do
  [[ -f tests/gateway/$module.rs ]] || die "there is no tests/gateway/$module.rs"
  filters+=("$module::")
done
HEARTLINE_TEST_STORE=history-service run_tests --test gateway -- --include-ignored "${filters[@]}" \
  $(printf -- '--skip %s ' "${skipped[@]}")
