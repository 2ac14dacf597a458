# Reads parts.table.

table=tests/runner/parts.table

rows() { # without comments
  awk '!/^#/ && NF' "$table"
}

all_parts() {
  rows | awk '{ print $1 }'
}

parts_of() { # STAGES [PART...]: those of the stages, only the given ones if any are, in the order of the table
  local stages=$1
  shift
  rows | awk -v stages=" $stages " -v only=" $* " 'index(stages, " " $2 " ") && (only == "  " || index(only, " " $1 " ")) { print $1 }'
}

deep_parts() {
  rows | awk '$3 == "deep" { print $1 }'
}

parts_on_a_release_build() { # those that build it in their short form, too
  (cd tests/parts && grep -lxE "need_(release|plain)_binary" -- *.sh) | sed 's/\.sh$//'
}

column_of() { # PART COLUMN
  rows | awk -v part="$1" -v column="$2" '$1 == part { print $column }'
}

limit_of() { # PART: seconds
  if [[ $LONG ]]; then echo 7200; else column_of "$1" 4 | awk '{ print int(60 * $1) }'; fi
}

may_run_again() { [[ $(column_of "$1" 5) == yes ]]; }

inputs_of() { # PART: a prefix a line
  rows | awk -v part="$1" '$1 == part { for (i = 6; i <= NF; i++) print $i }'
  echo "tests/parts/$1.sh"
}
