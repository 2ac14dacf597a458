# 10,000 users, each with 20 sockets that race for one claim.
. tests/parts/needs.bash
if [[ $LONG ]]; then need_release_binary; else need_binary; fi
ready
"${HEARTLINE_BIN%/*}/loadgen" --race --race-users "$([[ $LONG ]] && echo 50000 || echo 10000)"
