# The tests of tests/gateway once more, each gateway on a Redis of its own, and those of two gateways on one.
. tests/parts/needs.bash
need_cargo
need_command cc build-essential
need_redis
HEARTLINE_TEST_STORE=redis cargo test --locked --no-fail-fast --test gateway -- --include-ignored
