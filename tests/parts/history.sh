# From Redis by Kafka to Cassandra: two gateways and two jobs, each part of it killed and away; HISTORY_SEED repeats a run's
# load.
. tests/parts/needs.bash
need_history_clients
need_redis
need_kafka
need_cassandra
need_binary
"$PYTHON" -m unittest history.test_judge
"$PYTHON" -m history "$HEARTLINE_BIN" $([[ $LONG ]] && echo --rounds 100 --away-beats 1000000) \
  ${HISTORY_SEED:+--seed "$HISTORY_SEED"}
