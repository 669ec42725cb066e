"""Methods that lose on own data with their defaults, and that the doctor says so."""

import os
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark.structures import ParameterSet

from benchmarks.own_cases import Case
from benchmarks.own_losses import (
    CANNOT,
    NO_RUN,
    ONE_SEED,
    POINTS,
    beside,
    lost,
    measured,
    runs_of,
    table,
)
from benchmarks.own_truth import TEN, Run, options_of
from fedkin import Experiment
from fedkin.doctor.candidates import split_name
from fedkin.doctor.fits import FEDERATED as WAYS
from fedkin.doctor.kinds import FEDERATED, KINDS
from fedkin.doctor.risky_methods import ALSO, KINDS_THAT_LOSE, SPARED, risky_methods

ROOT = Path(__file__).parents[2]
FILES = "femnist", "har"
SLOW = "mnist", "fashion_mnist", "cifar10"  # a quarter of a minute together


def cases() -> list[ParameterSet]:
    return [
        pytest.param(
            case, id=case.name, marks=[pytest.mark.slow] if case.options["data"] in SLOW else []
        )
        for case in measured()
    ]


@pytest.mark.rotating
@pytest.mark.parametrize("case", cases())
def test_no_method_loses_two_points_without_the_doctor_having_said_so(
    case: Case, tmp_path: Path
) -> None:
    if case.options["data"] in FILES + SLOW and not os.environ.get("FEDKIN_DATA"):
        pytest.skip("FEDKIN_DATA names no folder with the data")
    told = Experiment("local", **options_of(case, 0, tmp_path)).doctor(rounds=0)
    may = set(told["may_lose"]["methods"])
    assert {split_name(method)[0] for method in lost(case)} <= may
    if told["verdict"]["federate"]:  # then what is recommended may lose only where all may
        named = {split_name(one["method"])[0] for one in told["candidates"]}
        assert not named & may or named <= may


def test_the_page_has_what_was_measured() -> None:
    page = (ROOT / "docs" / "defaults.md").read_text(encoding="utf-8")
    assert f"<!-- losses -->\n{table()}\n<!-- end -->" in page


def test_most_cases_have_methods_that_lose() -> None:
    losing = [case for case in measured() if lost(case)]
    assert len(losing) > len(measured()) / 2, "where nothing loses, nothing is tested"


def test_where_nobody_should_federate_all_that_federate_may_lose() -> None:
    assert risky_methods(False, []) == (FEDERATED, ("local",))
    assert risky_methods(True, [{"way": "anchored"}]).beside == ("local", "fedavg")
    assert risky_methods(True, [{"way": "shared"}]).beside == ("fedavg",)
    assert KINDS_THAT_LOSE.keys() == set(WAYS)


def test_methods_are_named_or_spared_for_a_reason() -> None:
    """What is spared is of a kind that loses, and has runs; what is named beside the kinds is of
    none, and lost.
    """
    runs = [beside(runs_of(case)) for case in measured()]
    for name in sum(SPARED.values(), ()):
        assert sum(name in of for of in runs) > 1, name
    for name in sum(ALSO.values(), ()):
        assert any(of.get(name, 0) < -POINTS for of in runs), name
    for way, kinds in KINDS_THAT_LOSE.items():
        of_kinds = {name for kind in kinds for name in KINDS[kind]}
        assert set(SPARED.get(way, ())) <= of_kinds, way
        assert not set(ALSO.get(way, ())) & of_kinds, way


def test_a_method_is_compared_on_the_seeds_that_it_has() -> None:
    def run(*points: float) -> Run:
        return Run("accuracy", 0.0, np.array(points))

    first = {"local": run(0.5, 0.7), "fedavg": run(0.6, 0.6), "ditto": run(0.5, 0.5)}
    second = {"local": run(0.9, 0.9), "fedavg": run(0.7, 0.7), "apfl": run(), "ditto:lam=2": run(1)}
    found = beside([first, second])
    assert found == {"ditto": pytest.approx(-10)}, "no second seed, no clients, other values"
    assert beside([second, {**second, "apfl": run(0.85, 0.9)}]) == {"apfl": pytest.approx(-2.5)}


def test_the_page_says_which_runs_there_are() -> None:
    rows = [line.split("|") for line in table().splitlines()[2:]]
    runs = [runs_of(case) for case in measured()]
    cells = {row[1].strip(" `"): [cell.strip() for cell in row[2:-1]] for row in rows}
    assert {method for method in TEN if method not in ("local", "fedavg")} <= cells.keys()
    for method, row in cells.items():
        for cell, of in zip(row, runs, strict=True) if "*" not in method else ():
            having = [one[method] for one in of if method in one]
            assert (cell == NO_RUN) == (not having)
            assert (cell == CANNOT) == (bool(having) and not any(len(one.test) for one in having))
            able = cell not in (NO_RUN, CANNOT)
            assert not able or (ONE_SEED in cell) == (len(having) < len(of))
