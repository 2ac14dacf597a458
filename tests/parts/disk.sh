# The disk is full: at the start, filled by another process, and again and again under the load of a crowd.
. tests/parts/needs.bash
need_python
need_binary
need_command unshare util-linux
need_command mount mount
ready
# Mounts of its own: they are gone with it, however it ends.
unshare --mount true ||
  die "a small disk to fill takes root; run: sudo tests/run disk (in a container: one with --cap-add SYS_ADMIN)"
unshare --mount "$PYTHON" -m faults.disk "$HEARTLINE_BIN" --fills "$([[ $LONG ]] && echo 60 || echo 2)"
