# The event log cannot be written, and its consumer is killed: viewers notice nothing, and every claim is paid once.
. tests/parts/needs.bash
need_command cc build-essential
need_python
need_binary
ready
"$PYTHON" -m faults.events "$HEARTLINE_BIN" $([[ $LONG ]] && echo --rounds 80 --users 100)
"$PYTHON" -m faults.consumer "$HEARTLINE_BIN" $([[ $LONG ]] && echo --rounds 100)
