# Reads parts.table.

table=tests/runner/parts.table

all_parts() {
  awk '!/^#/ && NF { print $1 }' "$table"
}

parts_of() { # STAGE [PART...]: those of the stage, only the given ones if any are, in the order of the table
  local stage=$1
  shift
  awk -v stage="$stage" -v only=" $* " '!/^#/ && $2 == stage && (only == "  " || index(only, " " $1 " ")) { print $1 }' "$table"
}

may_run_again() { # PART
  [[ $(awk -v part="$1" '!/^#/ && $1 == part { print $3 }' "$table") == yes ]]
}

inputs_of() { # PART: a prefix a line
  awk -v part="$1" '!/^#/ && $1 == part { for (i = 4; i <= NF; i++) print $i }' "$table"
  echo "tests/parts/$1.sh"
}
