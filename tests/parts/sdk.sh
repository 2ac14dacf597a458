# The browser SDK in Node, against the real binary; and its package, as it would be published (tests/sdk/package), which also
# plays a stream in headless Chromium.
. tests/parts/needs.bash

# What judges and uses the package is kept below TOOLS.
install_package_tools() {
  local there=$TOOLS/client-package pins=tests/sdk/package/package.json
  # The pins that are installed are kept beside them.
  if ! cmp -s "$pins" "$there/installed.json"; then
    local install=(npm install --loglevel=error --no-audit --no-fund --ignore-scripts --prefix "$there")
    mkdir -p "$there"
    cp "$pins" "$there/package.json"
    twice "${install[@]}" || die "cannot install; run: ${install[*]}"
    cp "$pins" "$there/installed.json"
  fi
}

need_node
need_browser
need_binary
one_at_a_time install_package_tools
ready
PATH=$(dirname "$NODE"):$PATH bash tests/sdk/package/check.sh "$TOOLS/client-package"
quiet=(--disable-warning=MODULE_TYPELESS_PACKAGE_JSON --disable-warning=ExperimentalWarning)
# The browser writes below HOME, whatever it is told.
export CLIENT_PACKAGE=$TOOLS/client-package HOME=$TMPDIR
"$NODE" --experimental-websocket "${quiet[@]}" --test tests/sdk/*.test.mjs
