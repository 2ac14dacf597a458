# The disk answers fsync with EIO, at the start and under a crowd's load.
. tests/parts/needs.bash
need_python
need_binary
ready
"$PYTHON" -m faults.sync "$HEARTLINE_BIN" $([[ $LONG ]] && echo --failures 60)
"$PYTHON" -m faults.table "$HEARTLINE_BIN"
