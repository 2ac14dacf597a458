# The store on Valkey, which has SET … IFEQ: what `redis` tries, as far as it has heads to swap.
. tests/parts/needs.bash
need_redis
need_valkey
compile test --no-run --test backends --test state_search --test conflicts
ready
export HEARTLINE_TEST_REDIS_SERVER=$VALKEY
# Direct counters, the Cluster's counters, owners' queues, notices, views, looks and slots have nothing to swap.
skipped=(direct owner redis_cluster_counters notices views looks slots)
cargo test --locked --no-fail-fast --test backends -- --ignored redis valkey $(printf -- '--skip %s ' "${skipped[@]}")
cargo test --locked --no-fail-fast --test state_search -- --ignored
cargo test --locked --no-fail-fast --test conflicts -- --ignored
