# The dependencies: their licences, where they come from, crates in two versions, and crates that nothing uses. deny.toml
# says what is allowed. Known vulnerabilities are not looked for, since that takes the database of RustSec from the network:
# `cargo deny check advisories` does it by hand.
. tests/parts/needs.bash
need_command git git
need_cargo_tool cargo-deny 0.20.2
need_cargo_tool cargo-machete 0.9.2
compile fetch
ready
# An exception that nothing needs any more is an error, too.
cargo deny --frozen check -D unnecessary-skip -D unmatched-skip -D license-not-encountered licenses bans sources
cargo machete
