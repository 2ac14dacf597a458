# `heartline conformance`: clients that keep all rules (the browser SDK in Node, the examples in Python and Kotlin), one faulty
# client for each rule, which must fail it, and copies of the client in Kotlin with a bug, which must fail theirs.
. tests/parts/needs.bash
need_node
need_python
need_kotlin_client
need_binary
ready
export NODE
"$PYTHON" -m unittest discover -s tests/conformance -t tests
