# The history store, held to its promises on a real Cassandra, which is killed while it is written.
. tests/parts/needs.bash
need_cassandra
need_redis
compile test --no-run --test history_store
ready
trap end_cassandra EXIT
start_cassandra
cargo test --locked --no-fail-fast --test history_store -- --ignored
