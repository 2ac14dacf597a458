# Unit, property, storage and gateway tests: everything that needs no service.
. tests/parts/needs.bash
compile test --no-run
ready
cargo test --locked --no-fail-fast
