# The browser SDK in Node, against the real binary.
. tests/parts/needs.bash
need_node
need_binary
ready
quiet=(--disable-warning=MODULE_TYPELESS_PACKAGE_JSON --disable-warning=ExperimentalWarning)
"$NODE" --experimental-websocket "${quiet[@]}" --test tests/sdk/*.test.mjs
