# Redis stopped, its connections cut between request and answer, Kafka away; one user who lists as fast as they may.
. tests/parts/needs.bash
need_python
need_redis
need_kafka
if [[ $LONG ]]; then need_release_binary; else need_binary; fi
ready
"$PYTHON" -m faults.lists "$HEARTLINE_BIN"
"$PYTHON" -m faults.stalls "$HEARTLINE_BIN" $([[ $LONG ]] &&
  echo --redis-seconds 60 --kafka-seconds 180 --cuts 200 || echo --redis-seconds 6 --kafka-seconds 15 --cuts 15)
