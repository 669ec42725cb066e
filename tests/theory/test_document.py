"""The example of docs/theory.md runs, and shows what the text says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "theory.md"


def test_the_example_shows_terms_that_go_against_each_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    exec(found[1], {})
    rows = [
        [float(number) for number in line.split()] for line in capsys.readouterr().out.splitlines()
    ]
    assert [row[0] for row in rows] == [1, 4, 20]
    assert rows[0][1] < rows[1][1] < rows[2][1]
    assert rows[0][2] > rows[1][2] > rows[2][2]


def test_every_function_of_the_table_is_there() -> None:
    named = re.findall(r"^\| `(\w+)\.(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert len(named) == 15
    for module, function in named:
        assert callable(
            getattr(__import__(f"fedkin.theory.{module}", fromlist=[function]), function)
        )
