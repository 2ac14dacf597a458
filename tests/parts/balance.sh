# The deployed HAProxy in front of two real gateways: each user goes to one of them, whatever way the token comes. And in
# front of two history services: no call is lost while one after the other is drained.
. tests/parts/needs.bash
need_haproxy
need_redis
need_python
need_binary
ready
configuration=deploy/haproxy/haproxy.cfg
"$PYTHON" -m balance "$HEARTLINE_BIN"
"$PYTHON" -m balance.history "$HEARTLINE_BIN"

# What each of these lines is there for must be missed without it.
planted() { # WHAT SED-EXPRESSION
  sed "$2" "$configuration" >"$TMPDIR/planted.cfg"
  ! cmp -s "$configuration" "$TMPDIR/planted.cfg" || die "$2 changes nothing in $configuration"
  if "$PYTHON" -m balance "$HEARTLINE_BIN" --configuration "$TMPDIR/planted.cfg" >"$TMPDIR/planted.log" 2>&1; then
    die "$1: nothing is found wrong"
  fi
  echo "planted: $1: found, $(tail -1 "$TMPDIR/planted.log")"
}
planted 'only a piece of the header is read' s/req.fhdr/req.hdr/
planted 'Authorization is not read' 's/http_auth_bearer/str(nobody)/'
planted 'another part of the token is read' s/jwt_payload_query/jwt_header_query/
planted 'the address of the client is not told' 's/ send-proxy-v2//'
planted 'a refused connection does not go on' 's/option redispatch 1/retries 0/'
