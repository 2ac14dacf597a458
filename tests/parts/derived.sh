# SIGKILL of a gateway, and of two gateways, their Redis and the server with the statistics in turn, and SIGSTOP of the
# servers for seconds, while users watch, forget and are erased: every number of every derived counter is that of the records.
# Then other definitions, and recounts. AUDIT_SEED repeats a run's load.
. tests/parts/needs.bash
need_python
need_redis
need_mongo
need_binary
ready
for store in embedded redis; do
  "$PYTHON" -m derived_audit "$HEARTLINE_BIN" --store "$store" --users 1000 \
    $([[ $LONG ]] && echo --rounds 60 --records 100000 || echo --rounds 4 --records 4000 --switches 1) \
    $([[ $LONG && $store == redis ]] && echo --frozen 12) ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
done
