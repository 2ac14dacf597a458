# The browser SDK in Node, against the real binary.
. tests/parts/needs.bash
need_command node nodejs
need_binary
# Older versions have no --experimental-websocket, or take the modules for CommonJS.
node -e 'const [major, minor] = process.versions.node.split("."); process.exit(major > 20 || (major == 20 && minor >= 19) ? 0 : 1)' ||
  die "node $(node --version) is too old; install 20.19 or later"
quiet=(--disable-warning=MODULE_TYPELESS_PACKAGE_JSON --disable-warning=ExperimentalWarning)
node --experimental-websocket "${quiet[@]}" --test tests/sdk/*.test.mjs
