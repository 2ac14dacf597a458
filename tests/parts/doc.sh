. tests/parts/needs.bash
# Documentation for developers: it has private items, and links to them are allowed.
export RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links"
compile doc --no-deps --document-private-items
ready
