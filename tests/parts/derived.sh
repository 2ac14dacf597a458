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
  kills=3 frozen=()
  [[ $store == embedded ]] || kills=2 frozen=(--frozen 1 --frozen-seconds 6)
  [[ ! $LONG || $store == embedded ]] || frozen=(--frozen 12)
  "$PYTHON" -m derived_audit "$HEARTLINE_BIN" --store "$store" --users 1000 "${frozen[@]}" \
    $([[ $LONG ]] && echo --rounds 60 --records 100000 || echo --rounds "$kills" --records 4000 --switches 1) \
    ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
done
