# What happens on the demo page, in headless Chromium; what it looks like is in target/screenshots.
. tests/parts/needs.bash
need_browser
need_redis
need_kafka
need_binary
ready
mkdir -p target/screenshots
# The browser writes below HOME, whatever it is told.
HOME=$TMPDIR node tests/browser/run.mjs stories
