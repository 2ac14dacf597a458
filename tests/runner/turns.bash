# Deep parts and planted bugs take turns: a run takes those that this machine has not taken for the longest time.

turns() { # WHAT: the folder with a file for each that was taken, of the age of its turn
  local folder
  folder=$(machine_cache) || folder=$TOOLS
  mkdir -p "$folder/turns/$1" && echo "$folder/turns/$1"
}

longest_waiting() { # WHAT NAME...: a name a line; in random order where two never had a turn
  local taken name
  taken=$(turns "$1") || return
  for name in "${@:2}"; do
    echo "$(stat -c %Y "$taken/$name" 2>/dev/null || echo 0) $RANDOM $name"
  done | sort -n -k 1,1 -k 2,2 | cut -d ' ' -f 3
}

took_turn() { # WHAT NAME
  touch "$(turns "$1")/$2"
}
