# The same as fleet, on a Redis Cluster of three masters without replicas, any of which may be killed.
. tests/parts/needs.bash
need_python
need_redis
need_kafka
need_binary
ready
"$PYTHON" -m auditor.fleet "$HEARTLINE_BIN" --redis cluster \
  --rounds "${AUDIT_ROUNDS:-$([[ $LONG ]] && echo 100 || echo 8)}" ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
