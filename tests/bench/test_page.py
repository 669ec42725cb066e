"""The leaderboard's page and what stands in it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from fedkin.bench.board import against_best, entries, order, stability
from fedkin.bench.page import markdown, page, write_page
from fedkin.core.errors import FedkinError
from tests.bench.made_rows import made_rows
from tests.report.browser import opened, started

ROWS = made_rows()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as found:
        yield found


def test_entries_are_means_over_seeds_best_first() -> None:
    found = [one for one in entries(ROWS) if (one.setting, one.budget) == ("har", "rounds")]
    assert [one.method for one in found[:2]] == ["centralized", "apfl"]
    mine = [row.mean for row in ROWS if (row.setting, row.method) == ("har", "apfl")]
    assert found[1].mean == pytest.approx(sum(m for m in mine if m is not None) / 2)
    local = next(one for one in found if one.method == "local")
    assert found[1].gain == pytest.approx(found[1].mean - local.mean)
    assert local.gain is None


def test_equal_compute_takes_the_shorter_run() -> None:
    found = {(one.method, one.budget): one for one in entries(ROWS) if one.setting == "har"}
    assert found["ditto", "rounds"].rounds == 10
    assert found["ditto", "compute"].rounds == 5


def test_the_pooled_comparator_wins_nothing() -> None:
    ranks = order(entries(ROWS), "rounds")
    assert ranks is not None
    assert ranks.names[0] == "apfl"
    assert "centralized" not in ranks.names
    assert against_best(ROWS, "har", "rounds")[0] == "apfl"


def test_the_best_is_told_apart_where_it_is_far_ahead() -> None:
    _, others = against_best(ROWS, "har", "rounds")
    chances = {one.method: one.p for one in others}
    assert chances["fedavg"] < 0.001
    assert all(one.difference < 0 for one in others)


def test_ranks_under_each_seed() -> None:
    found, agree = stability(ROWS, "rounds")
    by = {one.method: one.ranks for one in found}
    assert by["apfl"] == (1.0, 1.0)
    assert by["fedavg"] == (5.0, 5.0)
    assert agree is not None
    assert 0.8 < agree <= 1


def test_the_table_in_markdown_is_in_the_order_of_ranks() -> None:
    lines = markdown(ROWS).splitlines()
    assert lines[0].startswith("| method | Digits, 15 clients, Dirichlet 0.3 |")
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| apfl", "| ditto"]
    assert lines[-1].startswith("| centralized")
    assert all(line.count("|") == lines[0].count("|") for line in lines)


def test_nothing_finished_is_one_sentence() -> None:
    with pytest.raises(FedkinError, match="no finished row"):
        page(ROWS[-1:])


def test_whatever_a_row_says_is_text() -> None:
    assert "no &lt;batch&gt; norm" in page(ROWS)


@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_draws_sorts_and_filters(browser: Browser, tmp_path: Path, width: int) -> None:
    path = write_page(ROWS, tmp_path / "page.html")
    with opened(browser, path, width=width) as shown:
        assert shown.locator("figure .chart svg.marks").count() == 7
        body = shown.locator("#all tbody tr")
        whole = body.count()
        shown.fill("input.filter", "subjects ditto compute")
        assert shown.locator("#all tbody tr:visible").count() == 1
        shown.fill("input.filter", "")
        assert shown.locator("#all tbody tr:visible").count() == whole
        shown.locator("#all th button", has_text="± seeds").click()
        cells = shown.locator("#all tbody tr td:nth-child(5)").all_inner_texts()
        assert [float(cell) for cell in cells] == sorted(float(cell) for cell in cells)
        wide = shown.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        first = shown.locator("#to-beat tbody tr").first.inner_text()
        assert re.search(r"rounds\s+apfl", first)
