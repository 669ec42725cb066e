"""The page about ``safe`` has what was measured."""

import re
from pathlib import Path

import pytest

from benchmarks.gains import SETTINGS
from benchmarks.safe import METHODS, measured, methods_table, seeds_table

PAGE = Path(__file__).parents[2] / "docs" / "safe.md"


@pytest.mark.parametrize(("name", "table"), [("safe", methods_table), ("safe-seeds", seeds_table)])
def test_the_page_has_the_rows_of_the_file(name: str, table) -> None:  # type: ignore[no-untyped-def]
    assert f"<!-- {name} -->\n{table()}\n<!-- end -->" in PAGE.read_text(encoding="utf-8")


def test_every_seed_of_a_data_set_has_all_ten_methods() -> None:
    found = {(one["setting"], one["seed"], one["method"]) for one in measured()}
    assert {setting for setting, _, _ in found} == set(SETTINGS)
    for setting, seed in {(setting, seed) for setting, seed, _ in found}:
        assert {name for a, b, name in found if (a, b) == (setting, seed)} == set(METHODS)


def test_the_levels_after_a_choice_are_those_that_the_page_computes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = PAGE.read_text(encoding="utf-8").partition("**Where the method has chosen")[2]
    exec(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], {})
    found: dict[str, list[str]] = {}
    for line in capsys.readouterr().out.splitlines():
        rows, _, share = line.split(maxsplit=2)
        found.setdefault(rows, []).append(share)
    assert len(found) == 2
    for rows, shares in found.items():
        assert f"| {rows} | {' | '.join(shares)} |" in text
