# The store on Redis, held to the promises of every hot store and searched for broken ones, two gateways that write the same
# users, views and their flights, and its connections: on real servers that are killed, stalled, cut off, misconfigured, wiped and failed over. The
# store once more on Valkey, which has SET … IFEQ.
. tests/parts/needs.bash
need_cargo
need_command cc build-essential
need_redis
need_valkey
cargo test --locked --no-fail-fast --test backends redis -- --ignored
cargo test --locked --no-fail-fast --test redis -- --ignored
cargo test --locked --no-fail-fast --test state_search -- --ignored
cargo test --locked --no-fail-fast --test conflicts -- --ignored
cargo test --locked --no-fail-fast --test sums -- --ignored

export HEARTLINE_TEST_REDIS_SERVER=$VALKEY
# Direct counters, the Cluster's counters, owners' queues, notices, views, looks and slots have nothing to swap.
skipped=(direct owner redis_cluster_counters notices views looks slots)
cargo test --locked --no-fail-fast --test backends -- --ignored redis valkey $(printf -- '--skip %s ' "${skipped[@]}")
cargo test --locked --no-fail-fast --test state_search -- --ignored
cargo test --locked --no-fail-fast --test conflicts -- --ignored
