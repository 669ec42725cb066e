"""Tables of text."""

from fedkin.report.comparison.rank_table import rank_table
from fedkin.report.comparison.sheet import TIES, Sheet


def test_a_sheet_without_ranks_is_empty() -> None:
    from types import SimpleNamespace

    nothing = rank_table(SimpleNamespace(seen=[], measure="accuracy"))  # type: ignore[arg-type]
    assert nothing == Sheet("", [], [], 0)
    assert "paired differences" in TIES
