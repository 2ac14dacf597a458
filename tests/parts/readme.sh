# What the README tells a reader to run.
. tests/parts/needs.bash
need_command curl curl
need_python
need_browser
need_binary
ready
HOME=$TMPDIR "$PYTHON" -m readme
