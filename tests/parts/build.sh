# What most parts use, so that the time of no part has a build in it: on a new machine that takes half an hour.
. tests/parts/needs.bash
need_cargo
need_command cc build-essential
cargo test --locked --no-run
cargo build --release --locked
