# What this machine keeps between clones: built dependencies, built tools, whose turn it was. Nothing relies on it.

# Prints the folder for what this machine keeps between clones, or nothing where there is none.
machine_cache() {
  local folder=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
  [[ -n $folder ]] && mkdir -p "$folder/heartline-tests" 2>/dev/null && echo "$folder/heartline-tests"
}

# Prints a folder in memory, or nothing where memory is short.
memory_folder() {
  local folder=/dev/shm room=$((8 << 20)) # KiB
  [[ -w $folder ]] && (($(df --output=avail "$folder" | tail -n 1) >= room)) &&
    (($(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo) >= room + (4 << 20))) && echo "$folder"
}
