# `heartline conformance`: clients that keep all rules (the browser SDK in Node, the example in Python), and one faulty client
# for each rule, which must fail it.
. tests/parts/needs.bash
need_node
need_python
need_binary
ready
export NODE
"$PYTHON" -m unittest discover -s tests/conformance -t tests
