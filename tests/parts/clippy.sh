. tests/parts/needs.bash
need_cargo clippy
need_command cc build-essential
cargo clippy --all-targets --locked -- -D warnings
