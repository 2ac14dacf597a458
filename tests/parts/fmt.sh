. tests/parts/needs.bash
need_cargo fmt
ready
cargo fmt --all --check
