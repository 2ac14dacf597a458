# The store on Valkey, which has SET … IFEQ: what `redis` tries, as far as it has heads to swap.
. tests/parts/needs.bash
need_redis
need_valkey
compile test --no-run --test library
ready
export HEARTLINE_TEST_REDIS_SERVER=$VALKEY
# Direct counters, the Cluster's counters, owners' queues, notices, views, looks and slots have nothing to swap.
skipped=(direct owner redis_cluster_counters notices views looks slots)
run_tests --test library -- --ignored \
  backends::redis backends::valkey state_search:: conflicts:: $(printf -- '--skip %s ' "${skipped[@]}")
