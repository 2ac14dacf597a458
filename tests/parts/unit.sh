# Unit, property, storage and gateway tests: everything that needs no service.
. tests/parts/needs.bash
need_cargo
need_command cc build-essential
cargo test --locked --no-fail-fast
