# Views and a backlog of sums on a real database behind MongoDB's protocol: FerretDB, which keeps everything in PostgreSQL.
# SIGKILL of two gateways, their Redis, FerretDB and PostgreSQL, in turn and under load, and SIGSTOP of the servers for
# seconds. docs/views.md says what FerretDB 1 cannot do. AUDIT_SEED repeats a run's load.
. tests/parts/needs.bash
need_python
need_redis
need_ferret
need_binary
compile test --no-run --test library
ready
trap end_ferret EXIT
start_ferret
run_tests --test library -- --ignored statistics::backlog::
end_ferret
"$PYTHON" -m view_audit "$HEARTLINE_BIN" --statistics ferretdb \
  $([[ $LONG ]] && echo --rounds 60 --frozen 12 --night 60 || echo --rounds 6 --frozen 2 --frozen-seconds 6) \
  ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
