# Sourced by the other scripts: goes to the repository's root, and keeps its virtual environment .venv.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"
PY="$ROOT/.venv/bin/python"
# Python keeps the bytecode of what it imports: pip need not compile all that it installs, and no
# process that a test starts compiles fedkin anew.
unset PYTHONDONTWRITEBYTECODE

# The first Python of at least 3.11: $PYTHON if it is set, else python3, else a numbered one.
find_python() {
  local candidate candidates=(python3 python3.13 python3.12 python3.11)
  [ -z "${PYTHON:-}" ] || candidates=("$PYTHON")
  for candidate in "${candidates[@]}"; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "fedkin needs Python 3.11 or later: install it, or set PYTHON to where it is." >&2
  return 1
}

# pip_install WHAT: fedkin, with what stands in brackets, at the tested versions.
pip_install() {
  "$PY" -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e "$1" >&2
}

# prepare [extra] [others]: fedkin, with an extra, in .venv; nothing happens where nothing changed since the last time.
# Others come in the same installation, which is faster than one of their own; where one of them cannot be had, none does.
prepare() {
  local extra="${1:-}" others="${2:-}" stamp="$ROOT/.venv/fedkin-installed" python wanted
  if ! "$PY" -m pip --version >/dev/null 2>&1; then # not there, or left half made
    python="$(find_python)"
    if ! "$python" -m venv "$ROOT/.venv"; then
      echo "$python cannot make a virtual environment: install its venv module (python3-venv on Debian)." >&2
      return 1
    fi
  fi
  wanted="$(cat pyproject.toml constraints.txt src/fedkin/__init__.py | cksum) $ROOT" # with the version
  case "$(cat "$stamp" 2>/dev/null)" in
    "$wanted test") return ;; # the tests' installation holds everything
    "$wanted core") if [ -z "$extra" ]; then return; fi ;;
  esac
  echo "Installing fedkin into .venv (torch is large: this can take a few minutes) …" >&2
  if [ -z "$others" ] || ! pip_install ".[$extra,$others]"; then
    pip_install ".${extra:+[$extra]}"
  fi
  echo "$wanted ${extra:-core}" >"$stamp"
}

# The extra flower, which only its own tests need.
prepare_flower() {
  if ! "$PY" -c 'import flwr' 2>/dev/null; then
    echo "Installing the extra flower into .venv …" >&2
    pip_install ".[test,flower]"
  fi
}

# The extra docs, which only scripts/docs and the test of the built site need.
prepare_docs() {
  if ! "$PY" -c 'import zensical, mkdocstrings_handlers.python' 2>/dev/null; then
    echo "Installing the extra docs into .venv …" >&2
    pip_install ".[docs]"
  fi
}

# Temporary files of what is started from here lie in memory, where there is room: a run commits to
# disk some forty times, and its test waits for the disk longer than it computes. TMPDIR stays where
# it is set, and what failed stays for five hours.
ROOM=5 # GiB, and as much for the processes; the suite writes about half of it
temporary_in_memory() {
  local memory="${1:-/dev/shm}" free there
  if [ -n "${TMPDIR:-}" ] || [ ! -d "$memory" ] || [ ! -w "$memory" ]; then return 0; fi
  find "$memory" -maxdepth 1 -name 'fedtests-????' -user "$(id -un)" -mmin +300 -exec rm -rf {} + || true
  there="$(df -Pk "$memory" | awk 'NR == 2 { print int($4 / 1048576) }')"
  free="$(awk '$1 == "MemAvailable:" { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null || true)"
  if [ "${there:-0}" -lt "$ROOM" ] || [ "${free:-0}" -lt $((2 * ROOM)) ]; then return 0; fi
  TMPDIR="$(mktemp -d "$memory/fedtests-XXXX")"
  printf '#!/bin/sh\n' >"$TMPDIR/program"
  chmod u+x "$TMPDIR/program"
  if "$TMPDIR/program" 2>/dev/null; then # what tests compile must run there
    rm "$TMPDIR/program"
    export TMPDIR
    # no "pytest-of-USER/pytest-0" in between: a socket's path has 107 bytes
    BASE=(--basetemp "$TMPDIR/tests")
    trap '[ $? -ne 0 ] || rm -rf "$TMPDIR"' EXIT
  else
    rm -rf "$TMPDIR"
    unset TMPDIR
  fi
}

# suite [pytest's arguments]: all tests that are neither slow nor of Flower's processes.
# A module's tests stay in one process, so that what they share (a built site, runs) is made once.
suite() {
  export OMP_NUM_THREADS=1 # one thread a process: two intra-op threads make small steps many times slower
  BASE=()
  temporary_in_memory
  "$PY" -m pytest -n 2 --dist loadscope -m "not slow and not flower" ${BASE[@]+"${BASE[@]}"} "$@"
}
