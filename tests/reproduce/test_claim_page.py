"""The claims and their verdicts as a page."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from fedkin.reproduce import claim as claims_of
from fedkin.reproduce.claim import preset_rows, read_claims
from fedkin.reproduce.claim_page import VERDICTS, write
from fedkin.reproduce.claim_runs import CaseDetails, JudgedClaim
from fedkin.reproduce.claim_verdict import FAILS, HOLDS, OPEN, Finding
from fedkin.reproduce.estimate import Estimate
from fedkin.reproduce.finished_rows import FinishedRun, text_of
from fedkin.reproduce.row_spec import spec_of
from fedkin.reproduce.same_settings import digest_of
from tests.cli.command import fedkin
from tests.reproduce.claim_examples import ONE, QUICK


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The register is the made-up one, in a folder of its own."""
    monkeypatch.setattr(claims_of, "_texts", lambda: {"p": ONE})
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reproduction"


STAND = 'stand_ins_say = "A small CNN."\n'
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
    head = (made_up / "claims.md").read_text().partition("##")[0]
    assert head.count("`fedkin reproduce claims PAPER --rows CLAIM-ID`") == 1
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
    assert "<code>fedkin reproduce claims PAPER --rows CLAIM-ID</code>" in shown
    assert '<th scope="row">all</th><td class="n">2</td>' in shown
    assert shown.count('<th scope="row">more-models</th>') == 3  # a claim, and its two cases
    assert "More canonical models are better. (Figure 8) Made up." in shown
    assert {one["verdict"] for one in kept["claims"]} <= set(VERDICTS)


def test_kept_verdicts_and_finished_rows_take_the_place_of_runs(made_up: Path) -> None:
    result = fedkin(*ASK, "--rows", "N2,slow", "--json")
    before = json.loads(result.stdout)["cases"]
    shutil.copytree(made_up, "kept")
    rows, runs = preset_rows("full"), []
    for name in ("ppfl-f8-N2", "ppfl-f8-N3"):
        specs = [spec_of(rows[name], seed, {}) for seed in range(3)]
        runs += [
            FinishedRun(name, s.run.seed, {"scalars": 2.0}, 1.0, digest_of(s), "f", "0")
            for s in specs
        ]
    Path("kept", "t.csv").write_text(text_of(runs))
    ask = [*ASK, "--from=kept", "--out=again"]
    dry = json.loads(fedkin(*ask, "--dry-run", "--json").stdout)["rows"]
    assert not any(row["finished"] for row in dry)  # verdicts of one seed lack two
    again = json.loads(fedkin(*ask, "--finished", "--json").stdout)["cases"]
    assert again == before
    page = Path("again", "claims.md").read_text()
    assert "--from kept --finished`" in page
    assert "papers' scale" not in page  # no case has both rows there
    other = [*ask, "--set=train.lr=0.3", "--finished", "--json"]
    assert all(one["verdict"] == "undecided" for one in json.loads(fedkin(*other).stdout)["cases"])


def test_what_finished_rows_say_stands_beside_and_contradictions_at_the_top(
    tmp_path: Path,
) -> None:
    text = ONE.replace('low = "slow"', 'low = "ppfl-f8-N2"').replace(
        "[rows.slow]", STAND + "[rows.slow]"
    )
    found = read_claims("p", text)
    first, second = found.claims
    down = Finding(FAILS, -2.0, seeds=3, means=(-1.0, -2.0, -3.0))
    details = (CaseDetails("d", (), (), down), CaseDetails("d", ("x",), ("no data", "not run yet")))
    up, lacks = Finding(HOLDS, 1.0, 0.5, 1.5, 3), Finding(OPEN)
    judged = [
        JudgedClaim(first, "holds", ("N3", "N5"), (up, up), (), Estimate(0.0), details),
        JudgedClaim(second, OPEN, (), (lacks,), (), Estimate(0.0), details[1:]),
    ]
    write(found, judged, "small", "fedkin reproduce claims", tmp_path)
    page = (tmp_path / "claims.md").read_text()
    top, below = page.split("In brackets")
    assert "| more-models | N3 | 1 [0.5, 1.5]: holds | -1, -2, -3 (mean -2) | does not hold" in top
    assert "| all | 1 | 0 | 0 | 0 | 1 | 0 | 1 |" in top
    assert top.index("**In short.** At the small scale 1 of 2 claims hold") < top.index("| all |")
    assert "At the papers' scale: **does not hold** (1 of 2 cases)." in below
    assert "A small CNN." in below
    shown = (tmp_path / "claims.html").read_text()
    assert '<p class="lead">At the small scale 1 of 2 claims hold' in shown
    assert shown.count("-1, -2, -3 (mean -2)") == 2
    with (tmp_path / "claims.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert (lines[0]["full_verdict"], lines[0]["full_by_seed"]) == (FAILS, "-1.0 -2.0 -3.0")
    assert (lines[1]["lacking"], lines[1]["reasons"]) == ("x", "no data")
    kept = json.loads((tmp_path / "claims.json").read_text())
    assert kept["cases"][0]["full_by_seed"] == [-1.0, -2.0, -3.0]
    assert [one["full_verdict"] for one in kept["claims"]] == [FAILS, ""]
