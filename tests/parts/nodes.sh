# A node of a Cluster is away, or killed and failed over to its replica; slots move; Sentinel names another master.
. tests/parts/needs.bash
need_python
need_redis
need_binary
ready
"$PYTHON" -m faults.node_away "$HEARTLINE_BIN"
"$PYTHON" -m faults.slots_moved "$HEARTLINE_BIN"
"$PYTHON" -m faults.failover "$HEARTLINE_BIN" --rounds "$([[ $LONG ]] && echo 5 || echo 1)"
