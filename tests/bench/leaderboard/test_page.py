"""The leaderboard's page and what stands in it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from fedkin.bench.leaderboard.page import page, write_page
from fedkin.core.errors import FedkinError
from tests.bench.made_rows import OWN, made_rows, with_own_method
from tests.bench.test_verify import a_row
from tests.report.browser import opened, started

ROWS = made_rows()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as found:
        yield found


def test_nothing_finished_is_one_sentence() -> None:
    with pytest.raises(FedkinError, match="no finished row"):
        page(ROWS[-1:])


def test_whatever_a_row_says_is_text() -> None:
    assert "no &lt;batch&gt; norm" in page(ROWS)


@pytest.mark.rotating
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


def test_on_a_phone_each_cell_draws_the_line_above_it_so_that_no_fixed_cell_hides_it(
    browser: Browser, tmp_path: Path
) -> None:
    path = write_page(ROWS, tmp_path / "page.html")
    style = "cell => { const of = getComputedStyle(cell); return [of.borderTopWidth, of.position] }"
    with opened(browser, path, width=390, theme="dark") as shown:
        table = shown.locator("#to-beat table")
        assert table.evaluate("of => getComputedStyle(of).borderCollapse") == "separate"
        assert table.locator("tbody th").last.evaluate(style) == ["1px", "sticky"]
        assert table.locator("tbody td").last.evaluate(style) == ["1px", "static"]


def test_it_leads_with_who_is_best() -> None:
    text = page(made_rows())
    (said,) = re.findall(r'<p class="lead">(.*?)</p>', text)
    assert said.startswith("At equal rounds the best method of each of ")
    assert said.endswith(" Training alone is worse than it on 3, by more than chance on 1.")


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (
            ("apfl", "local"),
            "the best method is apfl. Training alone is worse, by more than chance.",
        ),
        (("local",), "the best method is local. Nothing beats training alone."),
    ],
)
def test_of_one_federation_it_leads_with_a_plain_sentence(
    methods: tuple[str, ...], expected: str
) -> None:
    rows = made_rows()
    few = [row for row in rows if row.setting == rows[0].setting and row.method in methods]
    (said,) = re.findall(r'<p class="lead">(.*?)</p>', page(few))
    assert said == f"At equal rounds {expected}"


def test_who_has_the_score_of_training_alone_does_not_beat_it() -> None:
    """Whichever row is first in the file, and whatever the order of sums leaves."""
    alone = a_row(id="a" * 12, method="local", mean=0.3, clients={"0": 0.3, "1": 0.3})
    same = a_row(id="b" * 12, method="ditto", mean=0.1 + 0.2, clients={"0": 0.2, "1": 0.4})
    for rows in ([alone, same], [same, alone]):
        text = page(rows)
        assert "the best method is local. Nothing beats training alone." in text
        (first,) = re.findall(r"<td>rounds</td><td>(.*?)</td>", text.partition('id="all"')[0])
        assert first == "local"


def test_rounds_that_differ_by_seed_are_shown_from_the_least_to_the_most() -> None:
    rows = [a_row(id=f"{seed}" * 12, seed=seed, rounds=seed, setting="har") for seed in (7, 9)]
    assert ">7–9<" in page(rows)
    assert ">7<" in page(rows[:1])


def test_the_page_says_that_nobody_stretches_training_alone() -> None:
    assert "local, which sends nothing, has the equal ones" in page(made_rows())


def test_a_method_that_is_not_fedkins_is_marked_and_told_where_it_stands() -> None:
    text = page(with_own_method())
    (said,) = re.findall(r'<div class="own-method"><p>(.*?)</p><ul>', text)
    assert said == f"▲ marks {OWN}, which is not one of fedkin&#x27;s methods."
    assert text.count(f"<li>Digits, 15 clients, Dirichlet 0.3: {OWN} is the 2nd of 6 methods") == 1
    marked = re.findall(r'<tr class="own-method">.*?<td class="method">(.*?)</td>', text)
    assert marked == [OWN] * 9
    (of_fedkin_alone,) = re.findall(r"<main>.*</main>", page(ROWS), re.DOTALL)
    assert not re.search(r'class="own-method"|▲ ', of_fedkin_alone)


@pytest.mark.rotating
@pytest.mark.parametrize("width", [390, 1400])
def test_the_charts_name_it_within_their_borders(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    path = write_page(with_own_method(), tmp_path / "page.html")
    sign = "cell => getComputedStyle(cell, '::before').content"
    with opened(browser, path, width=width, theme="dark") as shown:
        for name in ("critical-rounds", "clients-accuracy", "stability"):
            labels = shown.locator(f"#{name} svg text", has_text=f"▲ {OWN}")
            assert labels.get_attribute("font-weight") == "bold"
        chart = shown.locator("#cost-bytes-accuracy svg")
        box, around = chart.locator("text", has_text=OWN).bounding_box(), chart.bounding_box()
        assert box is not None
        assert around is not None
        assert around["x"] <= box["x"]
        assert box["x"] + box["width"] <= around["x"] + around["width"]
        assert shown.locator("#all .own-method .method").first.evaluate(sign) == '"▲ "'
        cells = shown.locator("#all .method").all_inner_texts()
        assert cells.count(OWN) == 9  # the sign is neither sorted nor saved
