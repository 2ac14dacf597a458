# The disk answers fsync with EIO, at the start and under a crowd's load.
. tests/parts/needs.bash
need_python
need_binary
ready
# Each way in which a disk fails comes once.
"$PYTHON" -m faults.sync "$HEARTLINE_BIN" $([[ $LONG ]] && echo --failures 60 || echo --failures 4 --sockets 400 --rate 600)
"$PYTHON" -m faults.table "$HEARTLINE_BIN"
