"""Where the scripts put the tests' temporary files: in memory, if it has room and nobody says
otherwise.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("bash") is None,
    reason="memory is a folder on Linux alone",
)


def ended(memory: Path, then: str, room: int = 0, **more: str) -> tuple[int, str]:
    """A script that asks for memory: its exit status, and the folder that it was given."""
    script = (
        f"set -euo pipefail; source scripts/lib.sh; ROOM={room}\n"
        f'temporary_in_memory "$1"; echo "${{TMPDIR:-}}"; {then}'
    )
    environment = {key: value for key, value in os.environ.items() if key != "TMPDIR"} | more
    done = subprocess.run(
        ["bash", "-c", script, "asked", str(memory)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout.strip()


def test_a_folder_of_ones_own_that_goes_with_a_script_that_ends_well(tmp_path: Path) -> None:
    code, given = ended(tmp_path, 'stat -c %a "$TMPDIR" >"$1/mode"; mkdir "$TMPDIR/kept"')
    assert code == 0
    assert Path(given).parent == tmp_path
    assert (tmp_path / "mode").read_text() == "700\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mode"]


def test_what_failed_stays_to_be_looked_at(tmp_path: Path) -> None:
    code, given = ended(tmp_path, 'mkdir "$TMPDIR/kept"; exit 3')
    assert code == 3
    assert [path.name for path in Path(given).iterdir()] == ["kept"]


def test_what_failed_hours_ago_goes(tmp_path: Path) -> None:
    for name, hours in (("fedtests-abcd", 6), ("fedtests-efgh", 4), ("others", 6)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, time.time() - 3600 * hours))
    assert ended(tmp_path, "true")[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"fedtests-efgh", "others"}


def test_it_stays_where_it_was_asked_to_be(tmp_path: Path) -> None:
    assert ended(tmp_path, "true", TMPDIR="/somewhere") == (0, "/somewhere")


@pytest.mark.parametrize(("folder", "room"), [(".", 1_000_000), ("missing", 0)])
def test_without_room_it_is_the_systems(tmp_path: Path, folder: str, room: int) -> None:
    assert ended(tmp_path / folder, "true", room) == (0, "")
    assert list(tmp_path.iterdir()) == []
