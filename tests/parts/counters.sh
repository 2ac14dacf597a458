# SIGKILL of a gateway, and of two gateways and their Redis in turn, and SIGSTOP of Redis for seconds, while callers add
# to direct counters: every value is what was answered, and every crossed threshold has one event id. AUDIT_SEED repeats a
# run's load.
. tests/parts/needs.bash
need_python
need_redis
need_binary
ready
for store in embedded redis; do
  "$PYTHON" -m counter_audit "$HEARTLINE_BIN" --store "$store" --rounds "$([[ $LONG ]] && echo 60 || echo 6)" \
    $([[ $store == redis ]] && { [[ $LONG ]] && echo --frozen 6 || echo --frozen 1 --frozen-seconds 6; }) \
    ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
done
