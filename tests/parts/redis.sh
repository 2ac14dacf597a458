# The store on Redis, held to the promises of every hot store and searched for broken ones, two gateways that write the same
# users, views and their flights, and its connections: on real servers that are killed, stalled, cut off, misconfigured, wiped
# and failed over. The part cluster-stores tries the stores on a Cluster.
. tests/parts/needs.bash
need_redis
compile test --no-run --test library
ready
run_tests --test library -- --ignored \
  redis conflicts:: state_search:: sums:: --skip history_store:: --skip kafka_bus:: --skip statistics:: --skip sums::cluster_ \
  --skip backends::redis_cluster
