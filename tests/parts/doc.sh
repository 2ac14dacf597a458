. tests/parts/needs.bash
need_cargo
need_command cc build-essential
# Documentation for developers: it has private items, and links to them are allowed.
RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --no-deps --document-private-items --locked
