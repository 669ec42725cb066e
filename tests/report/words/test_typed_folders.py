"""Folders as a shell takes them."""

import subprocess
from pathlib import Path

import pytest

from fedkin.report.words.typed_folders import typed_folders


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("runs/ditto-0", "runs/ditto-1", "runs/ditto-2", "runs/local-0", "runs/local-1"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("my sweep/0000-lam=1", "my sweep/0001-lam=2", "my sweep/0002-lam=3"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "my sweep/study.db").touch()
    (tmp_path / "my sweep/.locks").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def folders(*patterns: str) -> list[Path]:
    return [
        path
        for pattern in patterns
        for path in sorted(Path().glob(pattern))
        if path.is_dir() and path.name[0] != "."
    ]


@pytest.mark.parametrize(
    ("given", "typed"),
    [
        (["runs/*"], "runs/*"),
        (["my sweep/*"], "'my sweep'/*"),
        (["runs/ditto-*"], "runs/ditto-*"),
        (["runs/*", "my sweep/*"], "runs/* 'my sweep'/*"),
        (["runs/local-*"], "runs/local-0 runs/local-1"),  # two are as short
        (["runs/local-*", "runs/ditto-*"], "runs/local-0 runs/local-1 runs/ditto-*"),
        (["runs/ditto-[01]", "runs/local-0"], "runs/ditto-0 runs/ditto-1 runs/local-0"),
        (["runs/*-0"], "runs/ditto-0 runs/local-0"),
    ],
)
def test_a_pattern_names_the_same_folders_and_no_other(
    inside: Path, given: list[str], typed: str
) -> None:
    found = typed_folders(folders(*given))
    assert found == typed
    shell = subprocess.run(
        ["sh", "-c", f'LC_ALL=C; for f in {found}; do if test -d "$f"; then echo "$f"; fi; done'],
        capture_output=True,
        text=True,
        cwd=inside,
        check=True,
    )
    assert shell.stdout.splitlines() == list(map(str, folders(*given)))


def test_ends_and_both_sides_are_patterns_too(inside: Path) -> None:
    for name in ("a-x-1", "a-y-1", "a-z-1", "a-z-2", "b-z-1"):
        (inside / "more" / name).mkdir(parents=True)
    assert typed_folders(folders("more/a-*-1")) == "more/a-*-1"
    assert typed_folders(folders("more/*-1")) == "more/*-1"
    assert typed_folders([Path("more/b-z-1"), *folders("more/a-*")]) == "more/b-z-1 more/a-*"
