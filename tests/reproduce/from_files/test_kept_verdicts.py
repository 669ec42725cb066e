"""Verdicts of claims.csv in place of runs that are gone."""

import math
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.reproduce.claim import read_claims, register, rows_of
from fedkin.reproduce.claim_verdict import HOLDS, OPEN
from fedkin.reproduce.from_files.kept_verdicts import COLUMNS, kept_verdicts, settings
from tests.reproduce.claim_examples import ONE

REPRODUCTION = Path(__file__).parents[3] / "docs" / "reproduction"
HEAD = ",".join(COLUMNS) + "\n"
LINE = "as-much,,holds,1.5,1.0,2.0,3,,abc,,\n"


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "claims.csv").write_text(text)
    return tmp_path


def test_a_line_is_a_finding_with_what_it_lacked(tmp_path: Path) -> None:
    open_ = "more,N3,undecided,,,,0,1 row not run: a,def,a b,no data | no room\n"
    kept = kept_verdicts(written(tmp_path, HEAD + LINE + open_))
    one, other = kept["as-much", ""], kept["more", "N3"]
    assert one.finding[:5] == (HOLDS, 1.5, 1.0, 2.0, 3)
    assert (one.lacking, one.reasons, one.settings) == ((), (), "abc")
    assert other.finding.verdict == OPEN
    assert math.isnan(other.finding.effect)
    assert (other.lacking, other.reasons) == (("a", "b"), ("no data", "no room"))
    assert kept_verdicts(tmp_path / "nothing") == {}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (",settings", "", "it has no column settings"),
        ("1.5", "much", "line 2 has no numbers where effect, low, high and seeds belong"),
        ("1.5", "1_5", "line 2 has no numbers where effect, low, high and seeds belong"),
        ("1.5", "inf", "line 2 has no numbers where effect, low, high and seeds belong"),
        (",3,", ",3_0,", "line 2 has no numbers where effect, low, high and seeds belong"),
        (",holds", ",hold", "unknown verdict 'hold': did you mean 'holds'?"),
        (",,abc,,", "", "line 2 has too few cells"),
    ],
)
def test_a_file_that_is_none_is_told_in_one_sentence(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    text = HEAD + LINE
    assert old in text
    with pytest.raises(FedkinError) as error:
        kept_verdicts(written(tmp_path, text.replace(old, new)))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("b,,does not hold,1,0,2,3,,s,,\n", "line 3 tells of b, as a line above it does"),
        ("c,,holds,1,0,2,-3,,s,,\n", "line 3 has -3 seeds"),
    ],
)
def test_a_verdict_stands_there_once_and_of_seeds(tmp_path: Path, second: str, told: str) -> None:
    first = ",".join(COLUMNS) + "\nb,,holds,1,0,2,3,,s,,\n"
    assert len(kept_verdicts(written(tmp_path, first))) == 1
    with pytest.raises(FedkinError, match=told):
        kept_verdicts(written(tmp_path, first + second))


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "claims.csv").mkdir()
    with pytest.raises(FedkinError, match="cannot be read"):
        kept_verdicts(tmp_path)
    (tmp_path / "claims.csv").rmdir()
    (tmp_path / "claims.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(FedkinError, match="cannot be read"):
        kept_verdicts(tmp_path)


def test_a_link_to_nothing_is_no_folder_without_verdicts(tmp_path: Path) -> None:
    (tmp_path / "claims.csv").symlink_to(tmp_path / "gone.csv")
    with pytest.raises(FedkinError, match=r"claims\.csv cannot be read: No such file"):
        kept_verdicts(tmp_path)


def test_verdicts_that_a_spreadsheet_saved_are_read(tmp_path: Path) -> None:
    (tmp_path / "claims.csv").write_text(HEAD + LINE, encoding="utf-8-sig")
    assert kept_verdicts(tmp_path)["as-much", ""].finding[:5] == (HOLDS, 1.5, 1.0, 2.0, 3)


def test_what_a_case_tests_has_one_digest() -> None:
    found = read_claims("p", ONE)
    rows, case = rows_of(found, "small"), found.claims[0].cases[0]
    own = settings(case, rows, {})
    assert own == settings(case, rows, {"engine.name": "inprocess"})  # which decides nothing
    others = [
        settings(case, rows_of(found, "full"), {}),
        settings(case, rows, {"train.lr": 0.3}),
        settings(case._replace(bounds={"margin": 1.0}), rows, {}),
        settings(found.claims[0].cases[1], rows, {}),
    ]
    assert len({own, *others}) == 5
    assert settings(case, rows, {"train.lr": -1}) == ""


def test_a_verdict_by_another_interval_is_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for one of kind steadier, which always had its own."""
    found = read_claims("p", ONE)
    rows, case = rows_of(found, "small"), found.claims[0].cases[0]
    steadier = case._replace(kind="steadier")
    today = settings(case, rows, {}), settings(steadier, rows, {})
    monkeypatch.setattr("fedkin.reproduce.from_files.kept_verdicts.INTERVAL", "a bootstrap")
    assert settings(case, rows, {}) != today[0]
    assert settings(steadier, rows, {}) == today[1]


@pytest.mark.skipif(not REPRODUCTION.is_dir(), reason="the package alone has no docs")
def test_the_kept_verdicts_are_of_claims_that_there_are() -> None:
    """Of every paper's first case the settings, too, are those of today."""
    found, kept = register(), kept_verdicts(REPRODUCTION)
    assert {(one.id, case.name) for one in found.claims for case in one.cases} == set(kept)
    rows = rows_of(found, "small")
    changes = {"engine.name": "inprocess", "engine.compile": "auto"}
    for paper in found.titles:
        claim = next(one for one in found.claims if one.paper == paper)
        case = claim.cases[0]
        assert kept[claim.id, case.name].settings == settings(case, rows, changes)
