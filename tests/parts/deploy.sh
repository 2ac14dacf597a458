# What is deployed, as far as it can be tried without Docker: files, settings, the image's content, board and alerts.
. tests/parts/needs.bash
need_haproxy
need_redis
need_cargo
need_python
need_promtool
twice "$PYTHON" -m pip install -q pyyaml promql-parser || die "cannot install; run: $PYTHON -m pip install pyyaml promql-parser"
need_binary
"$PYTHON" -m unittest discover -s tests/deploy -t tests
