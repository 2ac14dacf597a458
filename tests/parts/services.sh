# SIGKILL of a random one of two gateways without a store, their two history services, Redis and Kafka, under load,
# and then SIGSTOP of Redis or Kafka for seconds; AUDIT_SEED repeats a run's load.
. tests/parts/needs.bash
need_python
need_redis
need_kafka
need_binary
ready
"$PYTHON" -m auditor.services "$HEARTLINE_BIN" --rounds "${AUDIT_ROUNDS:-$([[ $LONG ]] && echo 150 || echo 4)}" \
  $([[ $LONG ]] && echo --users 300 --newcomers 100 --frozen 8) ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
if [[ $LONG ]]; then
  # The same beside 10,000 sockets, and with steady beats held back for later ones.
  "$PYTHON" -m auditor.services "$HEARTLINE_BIN" --rounds 12 --sockets 10000 ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
  "$PYTHON" -m auditor.services "$HEARTLINE_BIN" --rounds 24 --hold 1000 ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
fi
