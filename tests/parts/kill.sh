# SIGKILL at random moments under load; AUDIT_SEED repeats a run's load.
. tests/parts/needs.bash
need_python
need_binary
ready
users=()
[[ $LONG ]] || users=(--users 150 --newcomers 60)
"$PYTHON" -m auditor "$HEARTLINE_BIN" --rounds "${AUDIT_ROUNDS:-$([[ $LONG ]] && echo 100 || echo 6)}" \
  "${users[@]}" ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
# The same with steady beats held back for later ones.
"$PYTHON" -m auditor "$HEARTLINE_BIN" --hold 1000 --rounds "$([[ $LONG ]] && echo 40 || echo 2)" \
  "${users[@]}" ${AUDIT_SEED:+--seed "$AUDIT_SEED"}
