"""What Windows has not is asked for in one place; the rest runs without it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fedkin.core.system import posix, private, scratch
from fedkin.runs import directory

SOURCES = Path(posix.__file__).parents[2]
ONLY_POSIX = re.compile(
    r"\bimport (fcntl|grp|pwd|resource|termios|tty|pty|syslog)\b"
    r"|\bos\.(getuid|geteuid|getgid|sysconf|sched_\w+|fork|mkfifo|chown|fchown|fchmod|statvfs)\b"
    r"|\bos\.O_(CLOEXEC|NOFOLLOW|NONBLOCK|DIRECTORY)\b|\bsignal\.SIG(HUP|ALRM|USR\d|CHLD)\b"
)


def test_no_other_file_names_what_windows_has_not() -> None:
    found = {
        path.relative_to(SOURCES).as_posix(): ONLY_POSIX.findall(path.read_text(encoding="utf-8"))
        for path in SOURCES.rglob("*.py")
    }
    assert {name for name, seen in found.items() if seen} == set()


@pytest.mark.rotating
def test_every_module_a_run_and_its_pages_without_it(tmp_path: Path) -> None:
    script = Path(__file__).with_name("without_posix.py")
    home = tmp_path / "home"
    home.mkdir()
    told = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, **told, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "all of it"
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000


def test_folders_below_the_home_alone_are_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private, "POSIX", False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert private.private_folder(home / "a" / "b") == Path(os.path.realpath(home)) / "a" / "b"
    assert private.private_folder(tmp_path / "elsewhere") is None
    assert not (tmp_path / "elsewhere").exists()
    (home / "link").symlink_to(home / "a")
    (home / "out").symlink_to(tmp_path)
    (home / "file").touch()
    for name in ("link", "out/below", "file", "a\0b"):
        assert private.private_folder(home / name) is None, name
    assert private.private_folder(home) is None


def test_a_folder_for_a_while_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "POSIX", False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch.scratch() as folder:
        assert folder.parent == tmp_path
        assert list(folder.iterdir()) == []
        (folder / "kept").touch()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a:b", "a?", 'a"', "a|b", "<a>"])
def test_names_that_windows_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert directory.path_in_run(tmp_path, name) == tmp_path / name
    monkeypatch.setattr(directory, "MARKS", '/\\:*?"<>|')
    with pytest.raises(directory.FedkinError, match="cannot be the name of a file"):
        directory.path_in_run(tmp_path, name)
