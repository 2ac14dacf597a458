# Callers in other languages, with clients made from the schema, and import and export, against the running program.
. tests/parts/needs.bash
need_grpc_clients
need_go
need_command openssl openssl
need_binary
ready
"$PYTHON" -m unittest discover -s tests/back_ends -t tests
