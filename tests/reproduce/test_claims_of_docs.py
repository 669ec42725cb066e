"""docs/reproduction/claims.md is what the command writes of the files beside it."""

import re
from pathlib import Path

import pytest

from tests.cli.command import fedkin

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reproduction"
COST = re.compile(r"The runs that are missing: .*")  # by this machine's speed


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page made again, without a run."""
    out = tmp_path_factory.mktemp("claims")
    made = re.search(r"Made by `fedkin (.+)`", page())
    assert made is not None
    words = made[1].replace("--from docs/reproduction", f"--from {PAGES}").split()
    result = fedkin(*words, "--out", str(out))
    assert result.exit_code == 0, result.output
    return (out / "claims.md").read_text("utf-8").replace("--from DIR", "--from docs/reproduction")


def page() -> str:
    return (PAGES / "claims.md").read_text("utf-8")


def test_the_page_is_made_of_its_files(again: str) -> None:
    told, made = (COST.sub("…", text).splitlines() for text in (page(), again))
    assert [line for line in told if line not in made] == []
    assert told == made


def test_the_page_begins_with_its_counts(again: str) -> None:
    top = again.partition("## How to read this page")[0]
    (lead,) = re.findall(r"^\*\*In short\.\*\* (.+)", top, re.MULTILINE)
    small = re.search(
        r"(\d+) of (\d+) claims hold, (\d+) hold only in the cases that are named, (\d+) do not "
        r"hold, and (\d+) are undecided, (\d+) of these",
        lead,
    )
    assert small is not None
    holds, claims, only, fails, undecided, lacking = map(int, small.groups())
    assert f"| all | {claims} | {holds} | {only} | {fails} | {undecided} |" in top
    assert holds + only + fails + undecided == claims
    assert 0 < lacking < undecided
    first = re.findall(r"^\*\*[\w-]+: (holds only|holds|does not hold|undecided)", again, re.M)
    counts = [first.count(word) for word in ("holds", "holds only", "does not hold", "undecided")]
    assert counts == [holds, only, fails, undecided]


def test_other_pages_count_the_claims_as_it_does(again: str) -> None:
    """The sentences of the README there and of the list of changes."""
    row = re.search(r"^\| all \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", again, re.M)
    assert row is not None
    claims, holds, only, fails, undecided = row.groups()
    readme = " ".join((PAGES / "README.md").read_text("utf-8").split())
    assert (
        f"Of {claims} claims in the five papers, each tested at a small scale, {holds} hold, "
        f"{only} hold only in some cases, {fails} do not hold and {undecided} are undecided"
    ) in readme
    changes = " ".join((ROOT / "CHANGELOG.md").read_text("utf-8").split())
    assert (
        f"{holds} hold, {only} hold only where the page says, {fails} do not hold, {undecided} are "
        "undecided"
    ) in changes
