# The tests of tests/gateway once more, each gateway on a Redis of its own, and those of two gateways on one. Without --long,
# what is answered before a store is asked is left out.
. tests/parts/needs.bash
need_cargo
need_command cc build-essential
need_redis
storeless=(
  addresses check_config closing country_file demo_routes keep_alive keys malformed origins renewal silence strikes tls tokens
  wire_errors
)
skipped=()
[[ $LONG ]] || for module in "${storeless[@]}"; do
  [[ -f tests/gateway/$module.rs ]] || die "there is no tests/gateway/$module.rs to leave out"
  skipped+=(--skip "$module::")
done
HEARTLINE_TEST_STORE=redis cargo test --locked --no-fail-fast --test gateway -- --include-ignored "${skipped[@]}"
