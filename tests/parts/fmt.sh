. tests/parts/needs.bash
need_cargo fmt
cargo fmt --all --check
