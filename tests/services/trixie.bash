# Sourced by what needs a package of Debian trixie, whatever release this machine has: it is unpacked, and not installed.
# The packages come from the mirror that this machine is set to install from, and are checked with Debian's keys. Who sources
# it says what `fail` does.

unpack_trixie() { # FOLDER PACKAGE...: into FOLDER/root
  local there=$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg own mirror package
  [[ -f $keys ]] || fail "$keys is missing; run: apt-get install -y debian-archive-keyring"
  # The mirror that this machine's own release comes from.
  own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk -v own="$own" '$1 == own { print $2; exit }')
  [[ -n $mirror ]] || fail "apt knows no mirror for ${own:-this release}; see /etc/apt/sources.list"

  mkdir -p "$there"/{apt/lists/partial,apt/cache/archives/partial,packages,root}
  echo "deb [signed-by=$keys] $mirror trixie main" >"$there/apt/sources.list"
  local apt=(apt-get -q -o "Dir::Etc::sourcelist=$there/apt/sources.list" -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root
    -o "Dir::State::lists=$there/apt/lists" -o "Dir::Cache=$there/apt/cache" -o Acquire::Languages=none
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
  "${apt[@]}" update >&2 || fail "the mirror $mirror has no trixie"
  (cd "$there/packages" && "${apt[@]}" download "${@:2}" >&2) || fail "a package is missing in trixie"
  for package in "$there"/packages/*.deb; do dpkg-deb --extract "$package" "$there/root"; done
  rm -r "$there"/{apt,packages}
}
