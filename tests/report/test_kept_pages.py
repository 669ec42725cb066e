"""Whole pages, word by word and row by row, beside those that were read and kept."""

import pytest

from tests.report.kept_pages import CASES, KEPT, kept, made


@pytest.mark.parametrize("case", CASES)
def test_a_page_is_what_it_was(case: str) -> None:
    """Whoever means to change it runs python -m tests.report.kept_pages, and reads what changed."""
    assert made(case) == kept(case)


def test_nothing_else_is_kept() -> None:
    assert {path.stem for path in KEPT.iterdir()} == set(CASES)
