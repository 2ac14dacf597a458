# The wall clock steps by more than the retention, under the auditor's load and at a start.
. tests/parts/needs.bash
need_library libfaketimeMT.so.1 faketime
need_python
need_binary
ready
"$PYTHON" -m faults.clock "$HEARTLINE_BIN" $([[ $LONG ]] && echo --steps 20)
