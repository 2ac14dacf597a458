# SIGKILL of what serves subscribers, and of Redis and Kafka, and SIGSTOP of these two, under load: each event comes at least
# once and in its order. And endpoints that hang, many more than there are workers. AUDIT_SEED repeats a run's load.
. tests/parts/needs.bash
need_webhook_clients
need_redis
need_kafka
need_binary
ready
"$PYTHON" -m unittest subscriber_audit.test_judge subscriber_audit.test_hung
for store in embedded redis; do
  kills=3 frozen=()
  [[ $store == embedded ]] || kills=2 frozen=(--frozen 1 --frozen-seconds 6)
  [[ ! $LONG || $store == embedded ]] || frozen=(--frozen 8)
  "$PYTHON" -m subscriber_audit "$HEARTLINE_BIN" --store "$store" --rounds $([[ $LONG ]] && echo 30 || echo "$kills") \
    "${frozen[@]}" ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
done
