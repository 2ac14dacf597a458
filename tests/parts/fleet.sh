# SIGKILL of a random one of two gateways, their Redis and their Kafka, under load, and then SIGSTOP of Redis or Kafka for
# seconds; AUDIT_SEED repeats a run's load.
. tests/parts/needs.bash
need_python
need_redis
need_kafka
need_binary
ready
"$PYTHON" -m unittest tiers.test_freezes
"$PYTHON" -m auditor.fleet "$HEARTLINE_BIN" --rounds "${AUDIT_ROUNDS:-$([[ $LONG ]] && echo 300 || echo 4)}" \
  $([[ $LONG ]] && echo --users 300 --newcomers 100 --frozen 12 || echo --frozen 1 --frozen-seconds 6) \
  ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
# The same with steady beats held back for later ones.
[[ ! $LONG ]] || "$PYTHON" -m auditor.fleet "$HEARTLINE_BIN" --hold 1000 --rounds 40 ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
