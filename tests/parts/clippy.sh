. tests/parts/needs.bash
need_cargo clippy
compile clippy --all-targets -- -D warnings
ready
