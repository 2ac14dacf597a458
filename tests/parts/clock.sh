# The wall clock steps by more than the retention, under the auditor's load and at a start; and a clock that was ahead of
# Redis's is corrected. Both wait most of the time, so they run side by side.
. tests/parts/needs.bash
need_library libfaketimeMT.so.1 faketime
need_python
need_redis
need_binary
ready
"$PYTHON" -m faults.clock_apart "$HEARTLINE_BIN" &
apart=$! failed=0
"$PYTHON" -m faults.clock "$HEARTLINE_BIN" $([[ $LONG ]] && echo --steps 20) || failed=$?
wait "$apart" || failed=$?
exit "$failed"
