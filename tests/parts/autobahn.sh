# Autobahn's fuzzing client against the gateway's sockets with an echo behind them; see tests/autobahn.
. tests/parts/needs.bash
need_cargo
need_command cc build-essential
need_wstest
cargo build --locked --example autobahn-echo
"$PYTHON" -m unittest autobahn.test_judge
"$PYTHON" -m autobahn "$CARGO_TARGET_DIR/debug/examples/autobahn-echo" "$WSTEST" "$TOOLS/autobahn" \
  --clients "$([[ $LONG ]] && echo 8 || echo 3)"
