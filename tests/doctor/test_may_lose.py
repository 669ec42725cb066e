"""Methods that lose on own data with their defaults, and that the doctor says so."""

import os
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from benchmarks.own_cases import Case
from benchmarks.own_losses import lost, measured, table
from benchmarks.own_truth import options_of
from fedkin import Experiment
from fedkin.doctor.candidates import split_name
from fedkin.doctor.fits import FEDERATED as WAYS
from fedkin.doctor.may_lose import FEDERATED, OTHERS, may_lose

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


@pytest.mark.parametrize("case", cases())
def test_no_method_loses_two_points_without_the_doctor_having_said_so(
    case: Case, tmp_path: Path
) -> None:
    if case.options["data"] in FILES + SLOW and not os.environ.get("FEDKIN_DATA"):
        pytest.skip("FEDKIN_DATA names no folder with the data")
    told = Experiment("local", **options_of(case, 0, tmp_path)).doctor(rounds=0)
    assert {split_name(method)[0] for method in lost(case)} <= set(told["may_lose"]["methods"])


def test_the_page_has_what_was_measured() -> None:
    page = (ROOT / "docs" / "own_data.md").read_text(encoding="utf-8")
    assert f"<!-- losses -->\n{table()}\n<!-- end -->" in page


def test_most_cases_have_methods_that_lose() -> None:
    losing = [case for case in measured() if lost(case)]
    assert len(losing) > len(measured()) / 2, "where nothing loses, nothing is tested"


def test_where_nobody_should_federate_all_that_federate_may_lose() -> None:
    assert may_lose(False, []) == (FEDERATED, ("local",))
    assert may_lose(True, [{"way": "anchored"}]).beside == ("local", "fedavg")
    assert may_lose(True, [{"way": "shared"}]).beside == ("fedavg",)
    assert OTHERS.keys() == set(WAYS)
