"""Every planted fault still has its one place, which scripts/plant-faults would say much later."""

import ast
from pathlib import Path

import pytest

import fedkin
from tests.planted.faults import Fault, planned, planted

PACKAGE = Path(fedkin.__file__).parent
ROOT = Path(__file__).parents[2]
FAULTS = planned()


def test_there_are_faults() -> None:
    assert len(FAULTS) > 300
    assert len({fault.what for fault in FAULTS}) == len(FAULTS), "two faults have one description"


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.what for fault in FAULTS])
def test_a_fault_has_one_place_and_gives_a_program(fault: Fault) -> None:
    text = (PACKAGE / fault.file).read_text(encoding="utf-8")
    changed, places = planted(text, fault)
    assert places == 1, f"{fault.old!r} occurs {places} times in {fault.file}"
    assert changed != text
    if fault.file.endswith(".py"):
        ast.parse(changed)  # a syntax error would be caught by any test
    missing = [test for test in fault.tests if not (ROOT / test.split("::")[0]).exists()]
    assert fault.tests
    assert not missing


def test_the_formatter_may_break_what_a_fault_replaces() -> None:
    text = "x = call(\n    first,\n    second,\n)\ny = callers(first, second)\n"
    fault = Fault("", "", "call(first, second)", "call(first)", ())
    assert planted(text, fault) == ("x = call(first)\ny = callers(first, second)\n", 1)
    assert planted(text * 2, fault) == (text * 2, 2)
    assert planted(text, fault._replace(old="call(third)"))[1] == 0
