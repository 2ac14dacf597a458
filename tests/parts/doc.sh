. tests/parts/needs.bash
# Documentation for developers: it has private items, and links to them are allowed.
export RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links"
# With an example it takes the features of tests: clippy has checked all dependencies with these.
compile doc --workspace --lib --bin loadgen --examples --no-deps --document-private-items
ready
