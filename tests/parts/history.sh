# From Redis by Kafka to Cassandra: two gateways and two jobs, parts of it killed, in each run others, and Redis, Kafka and
# Cassandra stopped for seconds; all data of Cassandra are lost, and then those of Redis. HISTORY_SEED repeats a run's load.
. tests/parts/needs.bash
need_history_clients
need_redis
need_kafka
need_cassandra
need_binary
ready
"$PYTHON" -m unittest history.test_judge
"$PYTHON" -m history "$HEARTLINE_BIN" --only same --only garbage --only heal --only kills --only loss \
  $([[ $LONG ]] && echo --users 5000 --rounds 100 --frozen 12 --losses 2 ||
    echo --users 250 --rounds 3 --acks 2500 --frozen 1 --frozen-seconds 6) \
  ${HISTORY_SEED:+--seed "$HISTORY_SEED"}
