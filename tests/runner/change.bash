# What the change is, and which parts it touches.

# The change is what differs from its base, committed or not. The base is CHANGE_BASE if that is set, or where the branch left
# its upstream. A branch that has no upstream, or is not ahead of it (a fresh clone), has no such place: there the base is
# the newest commit that is more than four hours old.
change_base() {
  local base
  if [[ -n ${CHANGE_BASE:-} ]]; then
    git rev-parse --verify --quiet "$CHANGE_BASE^{commit}" || {
      echo "CHANGE_BASE=$CHANGE_BASE is no commit" >&2
      return 1
    }
    return
  fi
  base=$(git merge-base HEAD '@{upstream}' 2>/dev/null)
  if [[ -z $base || $base == "$(git rev-parse HEAD)" ]]; then
    base=$(git rev-list -1 --before='4 hours ago' HEAD)
    # All commits are younger: everything is new.
    base=${base:-$(git hash-object -t tree /dev/null)}
  fi
  echo "$base"
}

changed_files() { # a path a line
  local base
  base=$(change_base) || return
  {
    git -c core.quotePath=false diff --name-only --no-renames "$base"
    git -c core.quotePath=false ls-files --others --exclude-standard
  } | sort -u
}

files_of_plant() { # PATCH: the paths that it changes
  sed -n 's|^+++ b/||p' "$1"
}

# Among the paths on standard input.
is_touched() { # PREFIX...
  local path prefix
  while IFS= read -r path; do
    for prefix in "$@"; do
      [[ $prefix != '*' && $path != "$prefix"* ]] || return 0
    done
  done
  return 1
}

plants_touched() { # by the change: in the patch, in a file that it changes, or in the test that it names; a patch a line
  local changed patch
  changed=$(changed_files) || return
  for patch in tests/planted/*.patch; do
    is_touched "$patch" "$(test_of_plant "$patch")" $(files_of_plant "$patch") <<<"$changed" && echo "$patch"
  done
  return 0
}

test_of_plant() { # PATCH: the prefix of the files of the test that it names
  local kind target name
  read -r kind target name < <(sed -n 's/^Caught-by: //p' "$1")
  case $kind in
    unit) echo "$1" ;; # beside the code
    auditor) echo "tests/${target//.//}" ;;
    *) [[ -f tests/$target/${name%%::*}.rs ]] && echo "tests/$target/${name%%::*}.rs" || echo "tests/$target/" ;;
  esac
}

parts_touched() { # by the change, in the order of the table
  local changed part prefixes
  changed=$(changed_files) || return
  for part in $(all_parts); do
    mapfile -t prefixes < <(inputs_of "$part")
    if is_touched "${prefixes[@]}" <<<"$changed" ||
      [[ " ${prefixes[*]} " == *' @plants '* && -n $(plants_touched) ]]; then
      echo "$part"
    fi
  done
}
