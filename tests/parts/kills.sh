# SIGKILL at random moments under the load of 10,000 sockets.
. tests/parts/needs.bash
need_python
need_binary
ready
"$PYTHON" -m faults.kills "$HEARTLINE_BIN" $([[ $LONG ]] && echo --seconds 900 --rounds 100 --rate 6000 --users 40)
