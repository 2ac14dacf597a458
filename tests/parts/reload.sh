# Other keys, another certificate and revocations, under a crowd's load: only those it concerns notice.
. tests/parts/needs.bash
need_command openssl openssl
need_python
need_binary
ready
"$PYTHON" -m faults.reload "$HEARTLINE_BIN" $([[ $LONG ]] &&
  echo --sockets 10000 --rate 10000 --key-changes 24 --tls-sockets 6000 --certificates 100 || echo --rate 1000 --key-changes 4)
"$PYTHON" -m faults.revoke "$HEARTLINE_BIN" $([[ $LONG ]] && echo --sockets 10000 --rate 10000 --users 1000 || echo --rate 1000)
