# SIGKILL of a gateway, and of two gateways and their Redis in turn, while callers add to direct counters: every value is what
# was answered, and every crossed threshold has one event id. AUDIT_SEED repeats a run's load.
. tests/parts/needs.bash
need_python
need_redis
need_binary
ready
for store in embedded redis; do
  "$PYTHON" -m counter_audit "$HEARTLINE_BIN" --store "$store" $([[ $LONG ]] && echo --rounds 60) ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
done
