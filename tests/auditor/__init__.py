"""The kill test: load, SIGKILL at a random moment, restart, read back, judge.

Loader processes note every frame before it is sent and as it is received; the auditor judges from these
journals and from what it reads over the wire, never from the gateway's files or code.
"""
