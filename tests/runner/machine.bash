# What this machine keeps between clones: built dependencies, built tools, whose turn it was. Nothing relies on it.

# Prints the folder for what this machine keeps between clones, or nothing where there is none.
machine_cache() {
  local folder=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
  [[ -n $folder ]] && mkdir -p "$folder/heartline-tests" 2>/dev/null && echo "$folder/heartline-tests"
}
