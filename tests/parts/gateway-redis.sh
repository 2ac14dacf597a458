# The tests of tests/gateway once more, each gateway on a Redis of its own, and those of two gateways on one. Without --long,
# what is answered before a store is asked is left out.
. tests/parts/needs.bash
need_redis
compile test --no-run --test gateway
ready
storeless=(
  addresses admission check_config clock_command closing control_slow country_file crowds cross_origin demo_live demo_routes
  events_command floods frames greeting health_command keep_alive keys live_classes live_streams loads log_lines malformed
  origins pace problems refusals renewal settings silence slow_readers start strict strikes tls tokens widget wire_errors
)
# What they need beside Redis is not here, or the part services has them.
skipped=(--skip carried_views:: --skip services_on_redis:: --skip other_settings::)
[[ $LONG ]] || for module in "${storeless[@]}"; do
  [[ -f tests/gateway/$module.rs ]] || die "there is no tests/gateway/$module.rs to leave out"
  skipped+=(--skip "$module::")
done
HEARTLINE_TEST_STORE=redis run_tests --test gateway -- --include-ignored "${skipped[@]}"
