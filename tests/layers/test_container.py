"""The container file names files that exist and a demo that the parser takes."""

import re
import shlex
from pathlib import Path

from website.commands import paths

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")


def test_what_is_copied_is_there_and_not_ignored() -> None:
    copied = [name for line in re.findall(r"^COPY (.*) \S+$", TEXT, re.M) for name in line.split()]
    assert "src" in copied
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in allowed, name


def test_the_extras_exist() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '".[${EXTRAS}]"' in TEXT
    extras = re.findall(r"EXTRAS=\"?([a-z,]+)", TEXT)
    assert len(extras) == 2  # what an image has, and what is told of nodes
    for extra in ",".join(extras).split(","):
        assert re.search(rf"^{extra} = \[", project, re.M), extra


def test_the_demo_is_a_command() -> None:
    (demo,) = re.findall(r"^RUN (fedkin run .*?)&&", TEXT, re.M)
    options = {name for one in paths()["fedkin run"].params for name in one.opts}
    assert {word for word in shlex.split(demo) if word.startswith("--")} <= options
    assert "test -f /tmp/demo/report.html" in TEXT
