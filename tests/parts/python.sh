# A client in another language, which knows the protocol and nothing of the code.
. tests/parts/needs.bash
need_python
need_binary
ready
"$PYTHON" -m unittest discover -s tests/python -t tests
