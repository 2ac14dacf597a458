# Attacks on a gateway that serves an honest crowd, and a crowd on several gateways: no client harms the others.
. tests/parts/needs.bash
need_release_binary
need_command unshare util-linux
need_command mount mount
ready
loadgen=${HEARTLINE_BIN%/*}/loadgen
if [[ $LONG ]]; then
  "$loadgen" --attack all --attack-addresses 5 --sockets 10000 --rate 2000 --verify
  "$loadgen" --gateways 11 --sockets 200000 --rate 3333 --warm-up 60s --duration 60s --compare-with 10000 --verify
else
  # A fifth of each attack, over a fifth of its time. So short a peace says little of the 99th percentile: up to the floor it
  # is not judged here. The data is on a disk in memory: others may have the real one, and a sync that takes half a second
  # for their sake would be held against the attack.
  unshare --mount true ||
    die "a disk in memory takes root; run: sudo tests/run crowd (in a container: one with --cap-add SYS_ADMIN)"
  unshare --mount bash -c 'mount -t tmpfs -o size=2g tmpfs "$TMPDIR" && exec "$0" "$@"' \
    "$loadgen" --attack all --attack-share 0.2 --attack-time 0.2 --sockets 2000 --rate 1000 --warm-up 500ms --quiet 1500ms \
    --p99-floor 100ms --set socket.write_timeout=3s --drain 60s --verify
fi
