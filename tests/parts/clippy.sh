. tests/parts/needs.bash
need_cargo clippy
compile clippy --workspace --all-targets -- -D warnings
# The build without features, as a newcomer makes it.
compile clippy --lib --bins -- -D warnings
ready
