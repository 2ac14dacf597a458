# Events in a topic of a real broker, which is stalled, killed and away.
. tests/parts/needs.bash
need_kafka
compile test --no-run --test library
ready
bash tests/services/kafka.sh "$TMPDIR/broker" >"$TMPDIR/broker.log" 2>&1 &
broker=$!
trap 'kill "$broker"; wait "$broker" || true' EXIT
until grep -q 'Kafka Server started' "$TMPDIR/broker.log"; do
  kill -0 "$broker" 2>/dev/null || die "the broker does not start: $(tail -n 5 "$TMPDIR/broker.log")"
  sleep 0.1
done
HEARTLINE_TEST_KAFKA=127.0.0.1:$(cat "$TMPDIR/broker/port") \
  run_tests --test library -- --include-ignored kafka_bus::
