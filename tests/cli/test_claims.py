"""``fedkin reproduce claims`` as a command: what it prints where."""

from pathlib import Path

import pytest

from fedkin.reproduce import claim as claims_of
from tests.cli.command import fedkin
from tests.reproduce.claim_examples import ONE


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The register is the made-up one, in a folder of its own."""
    monkeypatch.setattr(claims_of, "_texts", lambda: {"p": ONE})
    monkeypatch.chdir(tmp_path)


def test_its_files_are_the_result_and_the_rest_goes_without_quiet_alone() -> None:
    loud, quiet = (fedkin("reproduce", "claims", "--finished", *more) for more in ([], ["--quiet"]))
    assert "p more-models: undecided" in loud.stderr
    assert "2 claims, 4 rows, 4 of them to run" in loud.stderr
    assert quiet.stderr == ""
    assert quiet.stdout == loud.stdout
    assert "claims.md" in {Path(line).name for line in quiet.stdout.splitlines()}


def test_a_dry_run_prints_a_line_a_row() -> None:
    done = fedkin("reproduce", "claims", "--dry-run")
    assert [line.partition("  ")[0] for line in done.stdout.splitlines()] == [
        f"{n}-small" for n in ("ppfl-f8-N3", "slow", "ppfl-f8-N5", "ppfl-f8-N2")
    ]
