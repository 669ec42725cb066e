"""Continuous integration runs a third of the cases of a test that is marked ``many``, and another
third at the next commit; without FEDKIN_THIRD all of them run.
"""

import os
from collections import defaultdict

import pytest

VARIABLE = "FEDKIN_THIRD"
THIRDS = 3


@pytest.hookimpl(tryfirst=True)  # before other hooks deselect: places are those of all cases
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    given = os.environ.get(VARIABLE)
    if given is None:
        return
    if given not in {str(third) for third in range(THIRDS)}:
        raise pytest.UsageError(f"{VARIABLE}={given}: want 0, 1 or 2, or nothing for all cases")
    if config.getoption("--certify", None):
        raise pytest.UsageError(f"certificates are of all cases: unset {VARIABLE}")
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("many") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    out = {
        item
        for of_one_test in cases.values()
        if len(of_one_test) >= THIRDS
        for place, item in enumerate(of_one_test)
        if place % THIRDS != int(given)
    }
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=list(out))
