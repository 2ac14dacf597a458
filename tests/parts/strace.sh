# No ack is written before the fdatasync that covers it.
. tests/parts/needs.bash
need_command strace strace
need_python
need_binary
ready
for _ in $(seq "$([[ $LONG ]] && echo 20 || echo 1)"); do
  "$PYTHON" -m auditor.order "$HEARTLINE_BIN"
done
