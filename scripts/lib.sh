# Shared by the scripts beside it: finding Python, a virtual environment, tmux, and a cache for what tests install.
# Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Installed, fleet is compiled once. With this variable every one of the thousands of starts of a test run would compile it.
unset PYTHONDONTWRITEBYTECODE
cache=${FLEET_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tmux-fleet-tests}

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# python: prints a Python >= 3.11
python_path() {
  for candidate in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null || continue
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
      { "$candidate" -c 'import sys; print(sys.executable)'; return; }
  done
  die "Python 3.11 or newer is needed; set PYTHON to one"
}

# make_venv FOLDER EXTRA: a virtual environment with fleet in it, editable, made again when pyproject.toml changes
make_venv() {
  local folder=$1 extra=$2 stamp
  stamp="$folder/.made-$(cksum <"$root/pyproject.toml" | tr ' ' '-')-${extra:-plain}"
  [ -e "$stamp" ] && return
  [ -x "$folder/bin/python" ] || { say "making a virtual environment in $folder"; new_venv "$(python_path)" "$folder"; }
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -e "$root${extra:+[$extra]}" ||
    die "pip could not install fleet's dependencies"
  touch "$stamp"
}

# new_venv PYTHON FOLDER: Debian and Ubuntu have `venv` in a package of its own; what a failed try left is taken away
new_venv() {
  "$1" -m venv "$2" >/dev/null 2>&1 && return
  rm -rf "$2"
  if command -v apt-get >/dev/null && ! "$1" -c 'import ensurepip' 2>/dev/null; then
    install_packages "$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')" ||
      install_packages python3-venv || die "python3-venv could not be installed"
  fi
  "$1" -m venv "$2" >&2 || { rm -rf "$2"; die "$1 cannot make a virtual environment"; }
}

# install_packages NAME...: by the system's package manager, after saying so
install_packages() {
  if command -v apt-get >/dev/null; then
    say "installing $* with apt-get"
    as_root apt-get -qq update >/dev/null || true
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y "$@" >/dev/null
  elif command -v brew >/dev/null; then
    say "installing $* with brew"; brew install "$@"
  elif command -v dnf >/dev/null; then
    say "installing $* with dnf"; as_root dnf -q install -y "$@"
  elif command -v pacman >/dev/null; then
    say "installing $* with pacman"; as_root pacman -Sy --noconfirm "$@"
  elif command -v apk >/dev/null; then
    say "installing $* with apk"; as_root apk add "$@"
  else
    die "no package manager found; install $* yourself"
  fi
}

need_tmux() { command -v tmux >/dev/null || install_packages tmux || die "tmux could not be installed"; }
