# The operator's minute: ten faults, and what /readyz, metrics, alerts and log say of each within 60 s; see tests/minute.
. tests/parts/needs.bash
need_readers_of_yaml
need_promtool
need_command openssl openssl
need_redis
need_kafka
need_cassandra
need_binary
ready
"$PYTHON" -m minute "$HEARTLINE_BIN"
