# Autobahn's fuzzing client against the gateway's sockets with an echo behind them; see tests/autobahn.
. tests/parts/needs.bash
need_wstest
compile build --example autobahn-echo
ready
"$PYTHON" -m unittest autobahn.test_judge
"$PYTHON" -m autobahn "$CARGO_TARGET_DIR/debug/examples/autobahn-echo" "$WSTEST" "$TOOLS/autobahn" \
  --clients "$([[ $LONG ]] && echo 8 || echo 3)"
