# SIGKILL of a random one of two gateways without a store, their two history services, Redis and Kafka, under load,
# and then SIGSTOP of Redis, Kafka or a service for seconds; AUDIT_SEED repeats a run's load. Before it, services that lose
# their Redis, gateways with other settings on one Redis, and names of contents there.
. tests/parts/needs.bash
need_python
need_redis
need_kafka
need_binary
compile test --no-run --test gateway
ready
run_tests --test gateway -- --ignored services_on_redis:: other_settings:: content_names::
"$PYTHON" -m auditor.services "$HEARTLINE_BIN" --rounds "${AUDIT_ROUNDS:-$([[ $LONG ]] && echo 150 || echo 4)}" \
  $([[ $LONG ]] && echo --users 300 --newcomers 100 --frozen 8 || echo --frozen 1 --frozen-seconds 6) \
  ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
if [[ $LONG ]]; then
  # The same beside 10,000 sockets, and with steady beats held back for later ones.
  "$PYTHON" -m auditor.services "$HEARTLINE_BIN" --rounds 12 --sockets 10000 ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
  "$PYTHON" -m auditor.services "$HEARTLINE_BIN" --rounds 24 --hold 1000 ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
fi
