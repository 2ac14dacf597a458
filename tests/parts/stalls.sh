# Redis stopped, its connections cut between request and answer, Kafka away; the master under Sentinel and a node of a
# Cluster killed, slots moved; one user who lists as fast as they may.
. tests/parts/needs.bash
need_python
need_redis
need_kafka
need_binary
"$PYTHON" -m faults.lists "$HEARTLINE_BIN"
"$PYTHON" -m faults.stalls "$HEARTLINE_BIN" $([[ $LONG ]] && echo --redis-seconds 60 --kafka-seconds 180 --cuts 200)
"$PYTHON" -m faults.node_away "$HEARTLINE_BIN"
"$PYTHON" -m faults.slots_moved "$HEARTLINE_BIN"
"$PYTHON" -m faults.failover "$HEARTLINE_BIN" --rounds "$([[ $LONG ]] && echo 5 || echo 1)"
