# Many subscribers, one noisy and three ill: the others feel nothing of it, and everything comes and in order.
# AUDIT_SEED repeats a run's load. Redis and Kafka carry a tenth of what the embedded store does on the same machine.
. tests/parts/needs.bash
need_python
need_node
need_redis
need_kafka
need_release_binary
ready
load() { # STORE OWNERS EVENTS
  "$PYTHON" -m subscriber_load "$HEARTLINE_BIN" --store "$1" --node "$NODE" --owners "$2" --events "$3" \
    ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
}
if [[ $LONG ]]; then
  load embedded 100000 5000000
  load redis 100000 500000
else
  load embedded 10000 120000
  load redis 10000 30000
fi
