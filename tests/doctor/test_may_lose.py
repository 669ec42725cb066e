"""Methods that lose on own data with their defaults, and that the doctor says so."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.own_cases import CASES, Case
from benchmarks.own_truth import known, options_of
from fedkin import Experiment
from fedkin.doctor.candidates import split_name
from fedkin.doctor.may_lose import FEDERATED, may_lose

ROOT = Path(__file__).parents[2]
POINTS = 0.02  # of accuracy or AUC
NAMES = (
    "patients, one concept",
    "patients, rare outcome",
    "patients, two opposite groups",
    "pictures, one concept",
    "digits, equal shares",
)
FIVE = [case for case in CASES if case.name in NAMES]


def lost(case: Case) -> dict[str, float]:
    """{method: points below the better of local and fedavg}, of personal methods that lose more
    than two: means over clients, then over seeds.
    """
    runs = [of for (name, _), of in known().items() if name == case.name]
    tests: dict[str, list[float]] = {}
    for of in runs:
        for method, one in of.items():
            if len(one.test):  # it runs on such data
                tests.setdefault(method, []).append(float(np.nanmean(one.test)))
    means = {method: float(np.mean(found)) for method, found in tests.items()}
    best = max(means["local"], means["fedavg"])
    return {
        method: 100 * (best - mean)
        for method, mean in means.items()
        if method not in ("local", "fedavg") and best - mean > POINTS
    }


@pytest.mark.parametrize("case", FIVE, ids=[case.name for case in FIVE])
def test_no_method_loses_two_points_without_the_doctor_having_said_so(
    case: Case, tmp_path: Path
) -> None:
    told = Experiment("local", **options_of(case, 0, tmp_path)).doctor(rounds=0)
    found = lost(case)
    assert found, "a case where nothing loses tests nothing"
    assert {split_name(method)[0] for method in found} <= set(told["may_lose"]["methods"])
    page = (ROOT / "docs" / "own_data.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| {case.name} | `"))
    for method, points in found.items():
        assert f"`{method}` {points:.1f}" in row, "docs/own_data.md"


def test_where_nobody_should_federate_all_that_federate_may_lose() -> None:
    assert may_lose(False, []) == (FEDERATED, "local")
    assert may_lose(True, [{"way": "anchored"}]).beside == "local"
