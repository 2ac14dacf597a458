# Subscribers of the running program: their API, and webhooks at a receiver that is slow, broken, gone or elsewhere.
. tests/parts/needs.bash
need_webhook_clients
need_command openssl openssl
need_redis
need_binary
ready
"$PYTHON" -m unittest discover -s tests/subscribers -t tests
