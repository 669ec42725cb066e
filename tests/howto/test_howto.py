"""The how-to pages, and the tutorials that are commands, work as they stand there."""

import glob
import os
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.command import fedkin

DATA = Path(os.environ.get("FEDKIN_DATA") or "/nonexistent")
DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    *sorted((DOCS / "howto").glob("*.md")),
    DOCS / "tutorials" / "figure.md",
    DOCS / "tutorials" / "first_steps.md",
]
SHORT = ["--rounds", "2", "--engine", "inprocess"]
NEEDS = {"transformer": ("transformers", "peft")}  # packages that the pages install themselves
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def written(command: str) -> list[str]:
    """The words of a command, patterns as a shell reads them."""
    words = shlex.split(command)[1:]
    return [name for word in words for name in (sorted(glob.glob(word)) if "*" in word else [word])]


@pytest.mark.rotating
@pytest.mark.usefixtures("own_modules")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_works(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDS.get(page.stem, ()):
        pytest.importorskip(package)
    if page.stem in NEEDS and not (DATA / "shakespeare.json").is_file():
        pytest.skip("FEDKIN_DATA names no folder with shakespeare.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # as python puts it where a script stands
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert blocks
    space: dict[str, object] = {}
    for language, text in blocks:
        if language == "python":
            exec(compile(text, page.name, "exec"), space)
        elif language == "toml":
            if "entry-points" in text:
                continue  # examples/foreign_method is a package that has them
            short = text.replace("rounds = 10", "rounds = 1") + '[engine]\nname = "inprocess"\n'
            Path("experiment.toml").write_text(short, encoding="utf-8")
        elif language == "bash":  # what waits for other programs stands in blocks "console"
            for command in text.splitlines():
                words = written(command)
                done = fedkin(*words, *(SHORT if words[0] == "run" else []))
                assert done.exit_code == 0, (command, done.output)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_opens_with_what_the_reader_can_do(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines[2].startswith("After this page you can ")


def test_no_page_writes_where_another_does() -> None:
    """Pages are typed in one folder; patients.csv is the name of a reader's own table."""
    whose: dict[str, str] = {"patients.csv": "README"}
    pages = [*PAGES, DOCS / "tutorials" / "hospitals.md"]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        runs = re.findall(r"(?:--out |out=\")(runs/\w+)", text)
        tables = re.findall(r"(?:to_csv\(|open\()\"([\w.]+\.csv)\"", text)
        for name in {*runs, *tables}:
            assert whose.setdefault(name, page.stem) == page.stem, (name, page.stem)
