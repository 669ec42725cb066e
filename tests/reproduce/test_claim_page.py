"""The claims and their verdicts as a page."""

import csv
import json
from pathlib import Path

import pytest

from fedkin.reproduce import claim as claims_of
from fedkin.reproduce.claim_page import VERDICTS
from tests.cli.command import fedkin
from tests.reproduce.claim_examples import ONE, QUICK


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The register is the made-up one, in a folder of its own."""
    monkeypatch.setattr(claims_of, "_texts", lambda: {"p": ONE})
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reproduction"


ASK = ["reproduce", "claims", *QUICK, "--seeds=1"]


def test_what_is_missing_is_run_and_judged(made_up: Path) -> None:
    result = fedkin(*ASK, "--dry-run", "--json")
    rows = json.loads(result.stdout)["rows"]
    assert [row["row"] for row in rows] == [
        f"{n}-small" for n in ("ppfl-f8-N3", "slow", "ppfl-f8-N5", "ppfl-f8-N2")
    ]
    assert not any(row["finished"] for row in rows)
    assert all(row["seconds"] > 0 for row in rows)
    assert [row["estimate_is_rough"] for row in rows][1]  # of another row
    assert (
        "--seeds 3"
        in fedkin("reproduce", "claims", "--finished").output + (made_up / "claims.md").read_text()
    )
    assert "no case was run yet" in (made_up / "claims.html").read_text()
    (made_up / "claims.md").unlink()

    result = fedkin(*ASK, "p", "--finished", "--json")
    assert [one["verdict"] for one in json.loads(result.stdout)["claims"]] == ["undecided"] * 2
    page = (made_up / "claims.md").read_text()
    assert "**more-models: undecided.** More canonical models are better. (Figure 8)" in page
    assert "The runs that are missing: ~" in page
    assert not (made_up / "runs").exists()

    result = fedkin(*ASK, "--rows", "N2,slow", "--json")
    found = json.loads(result.stdout)
    assert [one["verdict"] for one in found["claims"]] == ["undecided", "holds"]
    line = found["cases"][2]
    assert (line["effect"], line["seeds"], line["rows"]) == (1.0, 1, "slow ppfl-f8-N2")
    assert result.stderr.count("done") == 2
    assert str(made_up.parent) not in (made_up / "claims.md").read_text()

    result = fedkin(*ASK, "--json")
    assert result.stderr.count("done") == 2  # the other two
    found = json.loads(result.stdout)
    assert all(one["effect"] is not None for one in found["cases"])
    with (made_up / "claims.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["claim"] for line in lines] == ["more-models", "more-models", "as-much-traffic"]
    kept = json.loads((made_up / "claims.json").read_text())
    assert kept["claims"][0]["note"] == "Made up."
    assert [float(line["effect"]) for line in lines] == [one["effect"] for one in kept["cases"]]
    assert "| all | 2 | " in (made_up / "claims.md").read_text()
    shown = (made_up / "claims.html").read_text()
    assert '<th scope="row">all</th><td class="n">2</td>' in shown
    assert shown.count('<th scope="row">more-models</th>') == 3  # a claim, and its two cases
    assert "More canonical models are better. (Figure 8) Made up." in shown
    assert {one["verdict"] for one in kept["claims"]} <= set(VERDICTS)
