# The history store, held to its promises on a real Cassandra, which is killed while it is written.
. tests/parts/needs.bash
need_cassandra
need_redis
compile test --no-run --test library
ready
trap end_cassandra EXIT
start_cassandra
run_tests --test library -- --ignored history_store::
