# Two gateways on one Redis behind HAProxy: drained one after the other under a crowd, and with two browsers of one user.
. tests/parts/needs.bash
need_haproxy
need_redis
need_python
need_browser
need_binary
ready
"$PYTHON" -m balance.drain "$HEARTLINE_BIN" $([[ $LONG ]] && echo --sockets 3000)
mkdir -p target/screenshots
# The browser writes below HOME, whatever it is told.
HOME=$TMPDIR node tests/browser/two_gateways.mjs
