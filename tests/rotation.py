"""Of tests that are marked ``rotating``, and of those that are evidence for certificates,
continuous integration runs an eighth, and another eighth at the next commit. Without FEDKIN_EIGHTH
all of them run; scripts/certify runs the evidence for every method whose source changed.
"""

import os
import zlib
from collections import defaultdict

import pytest

VARIABLE = "FEDKIN_EIGHTH"
EIGHTHS = 8
ROTATING = ("rotating", "certifies")


@pytest.hookimpl(tryfirst=True)  # before other hooks deselect: places are those of all cases
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    given = os.environ.get(VARIABLE)
    if given is None:
        return
    if given not in {str(eighth) for eighth in range(EIGHTHS)}:
        raise pytest.UsageError(f"{VARIABLE}={given}: want 0 to 7, or nothing for all tests")
    if config.getoption("--certify", None):
        raise pytest.UsageError(f"certificates are of all tests: unset {VARIABLE}")
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if any(map(item.get_closest_marker, ROTATING)) and not item.get_closest_marker("slow"):
            tests[item.nodeid.partition("[")[0]].append(item)
    out = {
        item
        for name, cases in tests.items()
        for item, eighth in zip(cases, eighths(name, len(cases)), strict=True)
        if eighth != int(given)
    }
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=list(out))


def eighths(name: str, cases: int) -> list[int]:
    """The eighth of each case: in turn, or by the test's name where there are too few to divide."""
    first = zlib.crc32(name.encode()) % EIGHTHS
    return [(first + (place if cases >= EIGHTHS else 0)) % EIGHTHS for place in range(cases)]
