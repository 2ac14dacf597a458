# Dependencies are built once per machine: what a run has built of them is kept in a cache outside the clone, and a clone
# without a target folder begins with a copy. A run needs no cache: without one, or with a damaged one, cargo builds what
# is missing.

# What decides which dependencies there are, and how they are built: of the manifests, not what tools are told there.
dependencies_key() {
  local builds='/^\[/ { told = /^\[(package|lints|workspace[].](lints|package|$)|lib|\[)/ } !told && !/^ *(#|$)/'
  { find Cargo.toml src tests/loadgen -name Cargo.toml | sort | xargs awk "$builds" && cat Cargo.lock && rustc -vV && env |
    sed -nE '/^(RUSTFLAGS|CARGO_PROFILE_|CARGO_ENCODED_RUSTFLAGS)/p' | sort; } |
    sha256sum | cut -c1-20
}

# In the release folder of which all dependencies are those of parts. A release build by hand has other features, and parts would
# build most of them once more.
export WHOLE_RELEASE=.dependencies-of-parts

# Megabytes of a profile above which other dependencies than those that are needed are not taken: most of them were built for
# manifests of long ago.
OTHERS_MAX=4000

# Sets dependencies_differ if those that were used last are of other manifests. Cargo builds what is missing, which is less than
# everything.
use_built_dependencies() {
  local cache key kept profile
  cache=$(machine_cache) || return 0
  key=$cache/dependencies/$(dependencies_key)
  for profile in debug release; do
    [[ ! -d $CARGO_TARGET_DIR/$profile ]] || continue
    kept=$key
    [[ -d $kept/$profile ]] || kept=$(others_built "$cache/dependencies" "$profile")
    [[ $kept ]] || continue
    mkdir -p "$CARGO_TARGET_DIR"
    # It gets its name once it is whole: an interrupted copy is never used.
    rm -rf "$CARGO_TARGET_DIR/$profile.part"
    if cp -a --reflink=auto "$kept/$profile" "$CARGO_TARGET_DIR/$profile.part"; then
      mv "$CARGO_TARGET_DIR/$profile.part" "$CARGO_TARGET_DIR/$profile"
      touch "$kept"
      [[ $kept == "$key" ]] || dependencies_differ=1
      echo "dependencies of the $profile build: taken from $kept"
    else
      rm -rf "$CARGO_TARGET_DIR/$profile.part"
    fi
  done
}

others_built() { # FOLDER PROFILE: the folder that was used last
  local kept
  while IFS= read -r kept; do
    [[ -d $1/$kept/$2 && $(du -sm "$1/$kept/$2" | cut -f1) -le $OTHERS_MAX ]] || continue
    echo "$1/$kept"
    return
  done < <(ls -t "$1" 2>/dev/null)
}

# Of a profile, once everything that it takes was built.
keep_built_dependencies() { # PROFILE
  local profile=$1 cache kept stage=$CARGO_TARGET_DIR/tests/dependencies
  cache=$(machine_cache) || return 0
  kept=$cache/dependencies/$(dependencies_key)
  [[ $profile != release ]] || replace_others "$kept/release" || return 0
  [[ ! -d $kept/$profile && -d $CARGO_TARGET_DIR/$profile/.fingerprint ]] || return 0
  rm -rf "$stage"
  mkdir -p "$kept"
  if link_built_dependencies "$profile" "$stage" && cp -a --reflink=auto "$stage/$profile" "$kept/$profile.$$" && mv -T "$kept/$profile.$$" "$kept/$profile"; then
    echo "dependencies of the $profile build: kept in $kept"
  else
    echo "dependencies of the $profile build cannot be kept in $kept" >&2
  fi
  rm -rf "$stage" "$kept/$profile.$$"
  forget_old_dependencies "$cache/dependencies"
}

# Whether the release build is one of parts. Then another one that is kept goes.
replace_others() { # KEPT
  [[ -e $CARGO_TARGET_DIR/release/$WHOLE_RELEASE ]] || return
  [[ -e $1/$WHOLE_RELEASE ]] || rm -rf "$1"
}

# Makes FOLDER/PROFILE, with links to all that is built but our own code. No build goes on meanwhile.
link_built_dependencies() { # PROFILE FOLDER
  local built=$CARGO_TARGET_DIR/$1
  mkdir -p "$2/$1"
  flock "$built/.cargo-lock" cp -al "$built/.fingerprint" "$built/build" "$built/deps" "$2/$1" && remove_own_code "$2/$1" &&
    { [[ ! -e $built/$WHOLE_RELEASE ]] || touch "$2/$1/$WHOLE_RELEASE"; }
}

# By the hashes of the package. `cargo clean --package` goes by the names of targets: for our test called `redis`, it would
# remove the crate of that name.
remove_own_code() { # FOLDER
  local folder=$1 own
  for own in "$folder"/.fingerprint/heartline-*; do
    rm -rf "$own" "$folder"/deps/*-"${own##*-}"{,.*}
  done
  ! compgen -G "$folder/deps/*heartline*" >&2
}

# The two that were used last stay.
forget_old_dependencies() { # FOLDER
  local old
  while IFS= read -r old; do
    rm -rf "${1:?}/$old"
  done < <(ls -t "$1" | tail -n +3)
}
