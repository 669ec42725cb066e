"""The claims register: its files, the rows that they name, the page, and the command."""

import csv
import json
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.reproduce import claim as claims_of
from fedkin.reproduce.claim import read_claims, register, rows_of
from fedkin.reproduce.claim_page import VERDICTS
from fedkin.reproduce.claim_runs import Asked, judged, state
from fedkin.reproduce.preset import SCALES
from fedkin.reproduce.row_spec import spec_of
from tests.cli.command import fedkin, told

PAPERS = ["cgpfl", "comet", "perfed-ckt", "persfl", "ppfl"]
ONE = """
paper = "A paper"
[rows.slow]
of = "ppfl-f8-N2"
set = { "train.lr" = 0.01 }
[rows.fast]
of = "ppfl-f8-{N}"
axes.N = { N3 = { "train.lr" = 0.5 }, N5 = {} }
[[claims]]
id = "more-models"
where = "Figure 8"
says = "More canonical models are better."
note = "Made up."
test = { kind = "above", high = "ppfl-f8-{N}", low = "slow" }
cases.N = ["N3", "N5"]
[[claims]]
id = "as-much-traffic"
where = "Nowhere"
says = "A slow run sends as much."
test = { kind = "ratio", row = "slow", to = "ppfl-f8-N2", at_most = 1.0, measure = "scalars" }
"""


def test_every_paper_has_claims_and_their_rows_exist() -> None:
    found = register()
    assert list(found.titles) == PAPERS
    assert len(found.claims) >= 40
    assert len({claim.id for claim in found.claims}) == len(found.claims)
    assert all(claim.where and claim.says.endswith((".", ")")) for claim in found.claims)
    for scale in SCALES:
        rows = rows_of(found, scale)
        asked = Asked(found, scale, 1, Path("nowhere"), {})
        known = {row.name for row in claims_of.preset_rows(scale).values()}
        for name, row in rows.items():
            assert asked.cost(name, row).seconds > 0, (
                name
            )  # nan would fail: every claim has its price
            if row.name not in known and row.runner == "experiment":
                spec_of(row, 0, {})


def test_axes_fill_the_names() -> None:
    found = read_claims("p", ONE)
    first, second = found.claims
    assert [case.name for case in first.cases] == ["N3", "N5"]
    assert first.needs == ("ppfl-f8-N3", "slow", "ppfl-f8-N5")
    assert [case.name for case in second.cases] == [""]
    assert found.own["slow"]["set"] == {"train.lr": 0.01}
    assert found.own["fast-N3"] == {
        **found.own["fast-N5"],
        "of": "ppfl-f8-N3",
        "set": {"train.lr": 0.5},
    }
    rows = rows_of(found, "small")
    assert rows["slow"].name == "slow-small"
    assert rows["slow"].changes["train.lr"] == 0.01
    assert rows_of(found, "full")["slow"].name == "slow"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '"above"',
            '"abov"',
            "p.toml: claim more-models: unknown kind 'abov': did you mean 'above'?",
        ),
        ("low =", "lo =", "unknown key 'lo': did you mean 'low'?"),
        (', low = "slow"', "", "a test of kind above needs low"),
        ('"scalars"', '"scalar"', "unknown measure 'scalar': did you mean 'scalars'?"),
        ("at_most = 1.0, ", "", "needs one of at_least and at_most"),
        ("{N}", "{M}", "names an axis that is not there: N"),
        ('says = "More', 'sayz = "More', "unknown key 'sayz': did you mean 'says'?"),
        ('where = "Nowhere"\n', "", "claim as-much-traffic: where is missing"),
        ("as-much-traffic", "more-models", "p.toml: claim 'more-models' is there twice"),
        ('"slow"', "slow", "p.toml is not TOML"),
    ],
)
def test_a_wrong_file_is_told_in_one_sentence(old: str, new: str, words: str) -> None:
    assert old in ONE
    with pytest.raises(FedkinError) as error:
        read_claims("p", ONE.replace(old, new))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new"), [('low = "slow"', 'low = "sloww"'), ('of = "ppfl-f8-N2"', 'of = "ppfl-f8-N1"')]
)
def test_a_row_that_does_not_exist_is_told_with_the_nearest(old: str, new: str) -> None:
    with pytest.raises(
        FedkinError, match=r"unknown row '(sloww': did you mean 'slow'|ppfl-f8-N1': did you mean)"
    ):
        rows_of(read_claims("p", ONE.replace(old, new)), "small")


def test_a_trend_of_two_rows_is_none() -> None:
    trend = ONE.replace(
        'high = "ppfl-f8-{N}", low = "slow"', 'over = ["slow", "ppfl-f8-{N}"]'
    ).replace("above", "trend")
    with pytest.raises(FedkinError, match="at least three rows in over"):
        read_claims("p", trend)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The register is the made-up one, in a folder of its own."""
    monkeypatch.setattr(claims_of, "_texts", lambda: {"p": ONE})
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reproduction"


QUICK = [
    f"--set={s}"
    for s in ("run.rounds=2", "engine.name=inprocess", "data.clients=4", "run.evaluate_every=1")
]
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
    assert {one["verdict"] for one in kept["claims"]} <= set(VERDICTS)


def test_a_run_of_another_setting_is_not_taken(made_up: Path) -> None:
    assert fedkin(*ASK, "--rows", "N2,slow").exit_code == 0
    other = [*ASK, "--set=train.lr=0.3", "--finished", "--json"]
    (_, second) = json.loads(fedkin(*other).stdout)["claims"]
    assert second["verdict"] == "undecided"
    assert "is a run of another setting (train.lr)" in (made_up / "claims.md").read_text()


def test_data_that_are_missing_leave_a_claim_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDKIN_DATA", str(tmp_path))  # there are no files
    found = read_claims(
        "p", ONE.replace("ppfl-f8-N2", "ppfl-t1-mnist-local").replace("ppfl-f8-{N}", "ppfl-f8-N3")
    )
    asked = Asked(found._replace(own={"slow": found.own["slow"]}), "small", 1, tmp_path, {})
    rows = asked.rows()
    there = claims_of_runs(asked, rows)
    first, _ = judged(asked, rows, there)
    assert first.verdict == "undecided"
    assert any("mnist.npz" in reason for reason in first.missing)


def claims_of_runs(asked: Asked, rows: dict) -> dict:
    """Only the row whose data are missing is tried."""
    from fedkin.reproduce.running import outcomes

    there = state(asked, rows)
    (one,) = outcomes([rows["slow"]], 1, asked.out, {})
    return {**there, "slow": one}


def test_mistakes_are_told(made_up: Path) -> None:
    assert "unknown paper 'pp': did you mean 'p'?" in told("reproduce", "claims", "pp")
    assert "unknown scale 'tiny'" in told("reproduce", "claims", "--scale", "tiny")
    assert "no row of the claims contains nothing" in told(
        "reproduce", "claims", "--rows", "nothing"
    )
    assert "did you mean 'rounds'" in told("reproduce", "claims", "--set", "run.roundz=2")
    assert told("reproduce", "ppfl-figure-8", "comet").startswith(
        "comet is for fedkin reproduce claims, not for"
    )
    assert told("reproduce", "ppfl-figure-8", "--dry-run").startswith(
        "--dry-run is for fedkin reproduce claims"
    )
    assert "did you mean 'claims'" in told("reproduce", "claim")
