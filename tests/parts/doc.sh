. tests/parts/needs.bash
need_cargo
need_command cc build-essential
# Read by those who work on it: private items are there, and may be linked to.
RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --no-deps --document-private-items --locked
