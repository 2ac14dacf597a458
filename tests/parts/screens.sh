# What the demo page and its documents look like on all sizes of screen, in headless Chromium; see target/screenshots.
. tests/parts/needs.bash
need_browser
need_binary
ready
mkdir -p target/screenshots
# The browser writes below HOME, whatever it is told.
HOME=$TMPDIR node tests/browser/run.mjs screens
