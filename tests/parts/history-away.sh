# Cassandra, then Kafka, are away under load: acks as fast as before, and no process grows.
. tests/parts/needs.bash
need_history_clients
need_redis
need_kafka
need_cassandra
need_release_binary
ready
"$PYTHON" -m history "$HEARTLINE_BIN" --only away $([[ $LONG ]] && echo --away-beats 1000000)
