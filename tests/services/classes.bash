# Sourced by the start scripts: the classes of a JVM as they are after a start, kept in a file. With it the next start takes half
# of the processor's time. A JVM that cannot use the file starts as it would without.

# Runs a service until it says these words, and keeps what it has loaded.
keep_classes() { # FILE WORDS COMMAND [ARGUMENT...]: the command keeps them in the file that $KEEP_CLASSES names
  local file=$1 words=$2 scratch pid
  [[ ! -f $file ]] || return 0
  scratch=$(mktemp -d)
  KEEP_CLASSES=$scratch/classes "${@:3}" "$scratch/service" >"$scratch/log" 2>&1 &
  pid=$!
  until grep -qF "$words" "$scratch/log"; do
    kill -0 "$pid" 2>/dev/null || { cat "$scratch/log" >&2; rm -rf "$scratch"; return 1; }
    sleep 0.1
  done
  kill "$pid"
  wait "$pid" || true
  mv "$scratch/classes" "$file"
  rm -rf "$scratch"
}

# The option with which a JVM keeps its classes, or takes those that are kept.
classes_option() { # FILE
  if [[ ${KEEP_CLASSES:-} ]]; then echo "-XX:ArchiveClassesAtExit=$KEEP_CLASSES"; else echo "-XX:SharedArchiveFile=$1"; fi
}
