# The store on Redis, held to the promises of every hot store and searched for broken ones, two gateways that write the same
# users, views and their flights, and its connections: on real servers that are killed, stalled, cut off, misconfigured, wiped
# and failed over.
. tests/parts/needs.bash
need_redis
compile test --no-run --test backends --test redis --test state_search --test conflicts --test sums
ready
cargo test --locked --no-fail-fast --test backends redis -- --ignored
cargo test --locked --no-fail-fast --test redis -- --ignored
cargo test --locked --no-fail-fast --test state_search -- --ignored
cargo test --locked --no-fail-fast --test conflicts -- --ignored
cargo test --locked --no-fail-fast --test sums -- --ignored
