# SIGKILL of two gateways, their Redis and the server with the statistics, in turn and under load; then SIGSTOP of the servers
# for seconds, and a night without the statistics. AUDIT_SEED repeats a run's load.
. tests/parts/needs.bash
need_python
need_redis
need_mongo
need_binary
ready
"$PYTHON" -m view_audit "$HEARTLINE_BIN" \
  $([[ $LONG ]] && echo --rounds 60 --frozen 12 --night 300 || echo --rounds 3 --frozen 1 --frozen-seconds 6) \
  ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
