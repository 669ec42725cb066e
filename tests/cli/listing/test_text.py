"""Lists as text."""

import io
import json
import math

from rich.console import Console

from fedkin.cli.listing.text import beginning, heading, note, paragraph, plain, values


def test_long_lists_are_shown_by_their_ends() -> None:
    assert values({"a": [1, 2, 3], "b": None}) == "a=[1, 2, 3]  b=none"
    assert values({"grid": list(range(8))}) == "grid=[0, 1, …, 7]"


def test_defaults_are_json() -> None:
    found = plain((1, math.inf, [None, math.nan], {"x"}))
    assert json.loads(json.dumps(found, allow_nan=False)) == [1, "inf", [None, "nan"], "{'x'}"]


def test_the_beginning_of_a_docstring_is_a_whole_sentence() -> None:
    def documented() -> None:
        """What ``it`` does, which
        takes two lines.

        More.
        """

    assert beginning(documented) == "What it does, which takes two lines."
    assert beginning(lambda: None) == ""


def test_lines_are_wrapped_below_their_title() -> None:
    out = io.StringIO()
    console = Console(file=out, width=30, color_system=None)
    heading(console, "Methods", "29 of them")
    paragraph(console, "name", ["word " * 12, "", "last"])
    note(console, "below")
    lines = out.getvalue().splitlines()
    assert lines[0] == "Methods  29 of them"
    assert all(line.startswith("    ") for line in lines[2:5])
    assert max(map(len, lines)) <= 30
    assert [line.strip() for line in lines].count("last") == 1
