# SIGKILL at random moments under load; AUDIT_SEED repeats a run's load.
. tests/parts/needs.bash
need_python
need_binary
"$PYTHON" -m auditor "$HEARTLINE_BIN" --rounds "${AUDIT_ROUNDS:-$([[ $LONG ]] && echo 100 || echo 20)}" \
  ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
