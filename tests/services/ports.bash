# Sourced by the start scripts: ports that are free the first time, and the same ones each time after it.

# Prints the first of COUNT neighbouring ports, kept in FILE: the one that is asked for, or a free one below those that
# the kernel gives to clients, one of which would have it while the server is down.
keep_port() { # FILE COUNT [FIRST]
  local file=$1 count=$2 first=${3:-} n
  [[ ! -f $file ]] || { cat "$file"; return; }
  while [[ -z $first ]]; do
    first=$((20000 + RANDOM % 10000))
    for ((n = first; n < first + count; n++)); do
      ! (: <"/dev/tcp/127.0.0.1/$n") 2>/dev/null || first=
      [[ -n $first ]] || break
    done
  done
  echo "$first" | tee "$file"
}
