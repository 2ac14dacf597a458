# What a beat costs Redis and Kafka, in commands and messages.
. tests/parts/needs.bash
need_python
need_redis
need_kafka
need_binary
ready
"$PYTHON" -m auditor.commands "$HEARTLINE_BIN"
