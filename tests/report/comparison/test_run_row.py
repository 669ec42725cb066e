"""One run in a comparison."""

import math
import sqlite3
from pathlib import Path

import pytest

from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.page import page
from fedkin.report.comparison.run_row import read_run
from fedkin.report.comparison.tables import compare, plain
from tests.report.comparison.compare_examples import diverge, printed
from tests.report.records_for_tests import FACTS, write


def test_a_setting_that_loses_a_client_is_not_the_best_by_validation(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole", accuracy=False, hyper={"lam": 1})
    lossy = diverge(
        write(tmp_path / "lossy", accuracy=False, hyper={"lam": 2}), 2
    )  # the others' mean is lower
    assert read_run(lossy, "lossy").validation == math.inf
    found = comparison([lossy, whole], best=True)
    assert list(found.choice["chosen"]) == [False, True]
    assert math.isnan(found.choice["validation"][0])
    found = comparison([lossy, diverge(whole, 1)], best=True)
    assert "clients diverged under every one" in found.warnings[-1]


@pytest.mark.parametrize("other", [{"sampling": "size"}, {"holdout_clients": 0.2}, {"patience": 3}])
def test_who_takes_part_and_how_long_tells_experiments_apart(
    tmp_path: Path, other: dict[str, object]
) -> None:
    spec = {**FACTS["spec"], "run": {"seed": 7, "sampling": "uniform", "evaluate_every": 1}}
    one = write(tmp_path / "one", spec=spec)
    two = write(tmp_path / "two", spec={**spec, "run": {**spec["run"], **other}}, seed=8)
    assert comparison([one, two]).seeds.empty
    often = write(
        tmp_path / "often", spec={**spec, "run": {**spec["run"], "evaluate_every": 5}}, seed=8
    )
    assert list(comparison([one, often]).seeds["seeds"]) == [[7, 8]]
    open_ = {**spec, "run": {**spec["run"], "patience": None}}
    later = write(tmp_path / "later", spec=open_, seed=8)  # a run of before says nothing of it
    assert list(comparison([one, later]).seeds["seeds"]) == [[7, 8]]


def test_a_method_given_as_a_value_is_told_from_others_with_its_name(tmp_path: Path) -> None:
    def run(name: str, seed: int, c: float, code: str = "aa") -> Path:
        method = {"code": code, "settings": {"c": c}}
        return write(tmp_path / name, seed=seed, values={"method": method})

    one, same = run("one", 7, 1.0), run("same", 8, 1.0)
    assert list(comparison([one, same]).seeds["seeds"]) == [[7, 8]]
    held, edited = run("held", 8, 0.1), run("edited", 8, 1.0, "bb")
    for other in (held, edited, write(tmp_path / "named", seed=8)):
        assert comparison([one, other]).seeds.empty
    again = run("again", 7, 0.1)
    assert comparison([one, again]).warnings == []  # not the same experiment with the same seed
    assert list(comparison([one, same, again, held]).seeds["setting"]) == ["c = 1.0", "c = 0.1"]
    assert list(comparison([one, same, edited, run("last", 7, 1.0, "bb")]).seeds["setting"]) == [
        "method.code = aa",
        "method.code = bb",
    ]
    # what its functions hold is chosen by validation data, as hyper-parameters are; code is not
    assert len(comparison([one, again], best=True).choice) == 2
    assert comparison([one, run("other", 7, 0.1, "bb")], best=True).choice.empty


def test_a_model_given_as_a_value_is_told_from_others_with_its_name(tmp_path: Path) -> None:
    def run(name: str, seed: int, **changed: object) -> Path:
        net = {"code": "aa", "layers": "bb", "parameters": 8, **changed}
        return write(tmp_path / name, seed=seed, values={"models": {"Net@python": net}})

    one, same = run("one", 7), run("same", 8)
    assert list(comparison([one, same]).seeds["seeds"]) == [[7, 8]]
    others = [run(key, 8, **{key: 64}) for key in ("code", "layers", "parameters")]
    for other in others:
        assert comparison([one, other]).seeds.empty
    wide = run("wide", 7, parameters=64)
    settings = comparison([one, same, wide, others[2]]).seeds["setting"]
    assert list(settings) == ["Net@python.parameters = 8", "Net@python.parameters = 64"]


def test_final_numbers_that_are_not_of_the_finished_model_are_said(tmp_path: Path) -> None:
    """A client lied where the finish was scored under masks: round 2 is the last with scores."""
    whole, cut = write(tmp_path / "whole"), write(tmp_path / "cut")
    with sqlite3.connect(cut / "run.db") as connection:
        connection.execute("DELETE FROM metrics WHERE round = 3")
    said = "cut: the finished model has no scores: its final numbers are of round 2"
    assert read_run(cut, "cut").unscored == said.removeprefix("cut: ")
    assert read_run(whole, "whole").unscored == ""
    found = comparison([whole, cut])
    assert [text for text in found.warnings if "no scores" in text] == [said]
    assert said in printed(compare(found), width=200)
    assert said in plain(found)["warnings"]
    assert said in page(found)
    open_ = write(tmp_path / "open", finished=False, until=2)
    assert not read_run(open_, "open").said  # its state says that it is not finished
