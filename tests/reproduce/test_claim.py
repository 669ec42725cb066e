"""The claims register: its files, the rows that they name, the page, and the command."""

import json
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.reproduce import claim as claims_of
from fedkin.reproduce.claim import preset_rows, read_claims, register, rows_of
from fedkin.reproduce.claim_runs import ClaimRequest
from fedkin.reproduce.preset import SCALES
from fedkin.reproduce.row_spec import same_persons, spec_of
from fedkin.setup.build import base_method
from tests.cli.command import fedkin, told
from tests.reproduce.claim_examples import ONE, QUICK

PAPERS = ["cgpfl", "comet", "perfed-ckt", "persfl", "ppfl"]


def test_every_paper_has_claims_and_their_rows_exist() -> None:
    found = register()
    assert list(found.titles) == PAPERS
    assert len(found.claims) >= 40
    assert len({claim.id for claim in found.claims}) == len(found.claims)
    assert all(claim.where and claim.says.endswith((".", ")")) for claim in found.claims)
    for scale in SCALES:
        rows = rows_of(found, scale)
        request = ClaimRequest(found, scale, 1, Path("nowhere"), {})
        known = {row.name for row in claims_of.preset_rows(scale).values()}
        for name, row in rows.items():
            assert request.cost(name, row).seconds > 0, (
                name
            )  # nan would fail: every claim has its price
            if row.name not in known and row.runner == "experiment":
                base_method(spec_of(row, 0, {}))  # one that refuses its values would never be run


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


def test_which_rows_have_the_same_clients_under_every_seed() -> None:
    rows = preset_rows("full")
    assert same_persons(rows["ppfl-t1-synthetic-fedavg"], {})
    assert same_persons(rows["ppfl-t2-emnist-fedavg"], {})
    assert not same_persons(rows["ppfl-t2-emnist-fedavg"], {"run.clients": 40})  # drawn by seed
    assert not same_persons(rows["ppfl-t1-mnist-fedavg"], {})
    assert not same_persons(rows["comet-f2-fedavg-client 0"], {})


@pytest.mark.parametrize("kind", ["trend", "order"])
def test_a_trend_of_two_rows_is_none(kind: str) -> None:
    trend = ONE.replace(
        'high = "ppfl-f8-{N}", low = "slow"', 'over = ["slow", "ppfl-f8-{N}"]'
    ).replace("above", kind)
    with pytest.raises(FedkinError, match="at least three rows in over"):
        read_claims("p", trend)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The register is the made-up one, in a folder of its own."""
    monkeypatch.setattr(claims_of, "_texts", lambda: {"p": ONE})
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reproduction"


ASK = ["reproduce", "claims", *QUICK, "--seeds=1"]


@pytest.mark.parametrize("further", ["", ",f2-fedavg"])
def test_the_rows_of_one_claim_are_chosen_by_its_name(
    further: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (claim,) = [one for one in register("comet").claims if one.id == "comet-above-local"]
    words = f"{claim.id}{further}"
    asked = ("reproduce", "claims", "comet", "--rows", words, "--dry-run", "--json")
    rows = json.loads(fedkin(*asked).stdout)["rows"]
    more = 2 if further else 0  # that no test of the claim takes
    assert len(rows) == len(claim.needs) + more


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
