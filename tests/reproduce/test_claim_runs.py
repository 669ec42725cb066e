"""The runs behind the claims: what is outcome_of, what is missing."""

import json
from pathlib import Path

import pytest

from fedkin.reproduce import claim as claims_of
from fedkin.reproduce.claim import read_claims
from fedkin.reproduce.claim_runs import ClaimRequest, judged, known_outcomes
from tests.cli.command import fedkin
from tests.reproduce.claim_examples import ONE, QUICK


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The register is the made-up one, in a folder of its own."""
    monkeypatch.setattr(claims_of, "_texts", lambda: {"p": ONE})
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reproduction"


ASK = ["reproduce", "claims", *QUICK, "--seeds=1"]


def test_a_run_of_another_setting_is_not_taken(made_up: Path) -> None:
    assert fedkin(*ASK, "--rows", "N2,slow").exit_code == 0
    other = [*ASK, "--set=train.lr=0.3", "--finished", "--json"]
    (_, second) = json.loads(fedkin(*other).stdout)["claims"]
    assert second["verdict"] == "undecided"
    assert "is a run of another setting (train.lr)" in (made_up / "claims.md").read_text()


def test_rows_of_kept_verdicts_alone_are_not_called_finished(made_up: Path) -> None:
    ran = [*ASK, "--rows", "N2,slow"]
    assert fedkin(*ran).exit_code == 0
    kept = [*ran, "--dry-run", "--json", "--from", made_up, "--out", made_up.parent / "other"]
    rows = json.loads(fedkin(*kept).stdout)["rows"]
    assert not any(row["finished"] for row in rows)
    assert any(row["kept_verdicts"] for row in rows)
    here = json.loads(fedkin(*ran, "--dry-run", "--json", "--from", made_up).stdout)["rows"]
    assert all(row["finished"] and not row["kept_verdicts"] for row in here)


def test_one_papers_verdicts_do_not_take_the_place_of_all(made_up: Path) -> None:
    made_up.mkdir()
    refused = fedkin(
        "reproduce", "claims", "ppfl", "--finished", "--from", made_up, "--out", made_up
    )
    assert refused.exit_code == 2
    assert "leave the paper out, or name another --out" in refused.stderr


def test_data_that_are_missing_leave_a_claim_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDKIN_DATA", str(tmp_path))  # there are no files
    found = read_claims(
        "p", ONE.replace("ppfl-f8-N2", "ppfl-t1-mnist-local").replace("ppfl-f8-{N}", "ppfl-f8-N3")
    )
    request = ClaimRequest(
        found._replace(own={"slow": found.own["slow"]}), "small", 1, tmp_path, {}
    )
    rows = request.rows()
    outcome_of = claims_of_runs(request, rows)
    first, _ = judged(request, rows, outcome_of)
    assert first.verdict == "undecided"
    assert any("mnist.npz" in reason for reason in first.missing)


def claims_of_runs(request: ClaimRequest, rows: dict) -> dict:
    """Only the row whose data are missing is tried."""
    from fedkin.reproduce.running import outcomes

    outcome_of = known_outcomes(request, rows)
    (one,) = outcomes([rows["slow"]], 1, request.out, {})
    return {**outcome_of, "slow": one}
