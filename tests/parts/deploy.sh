# What is deployed, as far as it can be tried without Docker: files, settings, the image's content, board and alerts.
. tests/parts/needs.bash
need_haproxy
need_redis
need_command openssl openssl
need_command update-ca-certificates ca-certificates
need_readers_of_yaml
need_promtool
need_binary
ready
"$PYTHON" -m unittest discover -s tests/deploy -t tests
