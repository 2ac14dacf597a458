# The build of a newcomer, without the drivers of other servers: how large it is, the README's steps, and what it says of settings
# that need a driver.
. tests/parts/needs.bash
need_command curl curl
need_python
need_browser
need_plain_binary
ready
megabytes=$(($(stat -c %s "$HEARTLINE_BIN") / 1000000))
echo "the binary has $megabytes MB"
((megabytes <= 45)) || die "the binary has $megabytes MB, and 45 are the limit"
HOME=$TMPDIR "$PYTHON" -m readme

refuses() { # SETTING VALUE: by name, when it is checked and when it is served
  local words=$1 command said status
  words=${words,,} words=${words/__/.}
  for command in check-config serve; do
    status=0
    said=$(cd "$TMPDIR" && env "HEARTLINE__$1=$2" "$HEARTLINE_BIN" $command 2>&1) || status=$?
    [[ $status == 78 && $said == *"HEARTLINE__$1: \"$2\" needs a build with --features fleet"* ]] ||
      die "$command with $words = $2 ends with $status and says: $said"
  done
  echo "ok  refused by name: $words = $2"
}
refuses STORE__HOT_STORE redis
refuses STORE__HOT_STORE history-service
refuses EVENTS__EVENT_BUS kafka
refuses HISTORY__STORE cassandra
refuses STATISTICS__STORE mongodb
