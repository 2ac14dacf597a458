. tests/parts/needs.bash
need_cargo clippy
compile clippy --workspace --all-targets -- -D warnings
ready
