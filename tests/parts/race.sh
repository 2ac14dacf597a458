# 10,000 users, each with 20 sockets that race for one claim.
. tests/parts/needs.bash
need_binary
ready
"$CARGO_TARGET_DIR/release/loadgen" --race --race-users "$([[ $LONG ]] && echo 50000 || echo 10000)"
