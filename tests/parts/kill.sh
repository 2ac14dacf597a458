# SIGKILL at random moments under load; AUDIT_SEED repeats a run's load.
. tests/parts/needs.bash
need_python
need_binary
ready
"$PYTHON" -m auditor "$HEARTLINE_BIN" --rounds "${AUDIT_ROUNDS:-$([[ $LONG ]] && echo 100 || echo 10)}" \
  ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
# The same with steady beats held back for later ones.
"$PYTHON" -m auditor "$HEARTLINE_BIN" --hold 1000 --rounds "$([[ $LONG ]] && echo 40 || echo 3)" \
  ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
