# Unit, property, storage and gateway tests: everything that needs no service.
. tests/parts/needs.bash
compile test --workspace --no-run
ready
cargo test --workspace --locked --no-fail-fast
