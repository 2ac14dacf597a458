# The hot store, counters, views, a backlog of sums, owners' queues and notices on a Redis Cluster of three masters, held to the
# promises that `redis` tries on one server.
. tests/parts/needs.bash
need_redis
compile test --no-run --test library
ready
run_tests --test library -- --ignored backends::redis_cluster sums::cluster_
