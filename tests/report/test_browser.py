"""The report in a real browser: it opens, draws, answers to a choice, and shows the numbers of
run.db.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from fedkin.report.page.report import write_report
from tests.report.browser import opened, started
from tests.report.records_for_tests import write, write_large


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(write(tmp_path_factory.mktemp("run")))


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    with opened(browser, report) as found:
        yield found


def drawn(page: Page) -> dict[str, tuple[float, int]]:
    """{chart: (its height, how many shapes it has)} of the charts on the page."""
    script = """charts => charts.map(chart => [
        chart.id.slice(6), chart.getBoundingClientRect().height,
        chart.querySelectorAll("svg path, svg line, svg text, canvas").length])"""
    return {
        name: (height, shapes)
        for name, height, shapes in page.eval_on_selector_all(".chart", script)
    }


@pytest.mark.rotating
def test_all_charts_are_drawn_and_told_in_words(page: Page) -> None:
    charts = drawn(page)
    assert int(page.evaluate("document.documentElement.dataset.drawn")) == len(charts) >= 16
    assert not {name for name, (_, shapes) in charts.items() if shapes < 3}
    assert not {n for n, (height, _) in charts.items() if height < 50 and not n.startswith("own-")}
    words = page.eval_on_selector_all(
        ".chart", "charts => charts.map(chart => chart.getAttribute('aria-label'))"
    )
    assert all(len(text) > 30 for text in words)
    assert page.locator("text=This chart cannot be drawn").count() == 0


def test_the_numbers_are_those_of_the_record(page: Page, report: Path) -> None:
    query = (
        "SELECT accuracy FROM metrics WHERE round = 3 AND view = ? AND split = 'test' "
        "ORDER BY client"
    )
    with sqlite3.connect(report.parent / "run.db") as database:
        personal, shared = (
            [value for (value,) in database.execute(query, (v,))] for v in ("personal", "global")
        )
    heads = page.locator("#table thead th").all_inner_texts()
    rows = page.locator("#table tbody tr").all_inner_texts()
    columns = [heads.index(f"{view} accuracy") for view in ("personal", "global")]
    shown = [[row.split("\t")[at] for at in columns] for row in rows]
    assert shown == [
        [f"{100 * a:.2f} %", f"{100 * b:.2f} %"] for a, b in zip(personal, shared, strict=True)
    ]
    head = page.locator("dl.four div", has_text="final test accuracy").locator("dd").first
    head = head.inner_text()
    assert head == f"{100 * sum(personal) / len(personal):.2f} %"


def test_a_chosen_client_is_lit_everywhere_and_has_its_own_view(page: Page) -> None:
    faded = "path[opacity='0.15']"
    assert page.locator(f"#chart-clients {faded}").count() == 0
    assert page.locator("#own").is_hidden()
    page.locator("#table tbody tr").nth(1).click()
    for name in ("clients", "data", "clusters"):
        assert page.locator(f"#chart-{name} {faded}").count() > 0, name
    assert page.locator("#own h2").first.inner_text() == "Client b"
    assert "50.00 %" in page.locator("#own dl").inner_text()
    charts = drawn(page)
    assert not {name for name, (height, _) in charts.items() if height < 50}
    assert page.url.endswith("#client=b")
    page.locator("#forget").click()
    assert page.locator(f"#chart-clients {faded}").count() == 0
    assert page.locator("#own").is_hidden()


def test_a_click_in_a_chart_chooses(page: Page) -> None:
    page.locator("#chart-clients path[aria-label*='client: b']").first.click()
    assert page.locator("#chosen").inner_text().startswith("Chosen: client b")
    page.locator("#find").fill("a")
    page.locator("#find").press("Enter")
    assert page.locator("#own h2").first.inner_text() == "Client a"


def test_a_client_has_an_address(browser: Browser, report: Path) -> None:
    with opened(browser, report, client="b", width=390) as page:
        assert page.locator("#own h2").first.inner_text() == "Client b"
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390  # a phone does not scroll sideways


@pytest.mark.rotating
def test_two_thousand_clients_open_at_once(browser: Browser, tmp_path: Path) -> None:
    path = write_report(write_large(tmp_path, 2000, 3))
    with opened(browser, path, client="client 1999") as page:  # the slow test says how soon
        assert page.locator("#own h2").first.inner_text() == "Client client 1999"


@pytest.mark.slow
def test_a_hundred_times_the_clients_cost_a_few_times_as_much(
    browser: Browser, tmp_path: Path
) -> None:
    few, many = (write_report(write_large(tmp_path / str(n), n, 200)) for n in (20, 2000))
    assert many.stat().st_size < 20e6
    small, large = processor_time(browser, few), processor_time(browser, many)
    assert large["opened"] < 9 * small["opened"], "what is in sight"
    assert large["drawn"] < 6 * small["drawn"], "all charts"


def processor_time(browser: Browser, path: Path) -> dict[str, float]:
    """What a page has cost by the time that it is open, and that all is drawn, in seconds of its
    processor: the clock also tells what others do.
    """
    spent = {}
    with opened(browser, path) as page:
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.reload()
        for state in ("opened", "drawn"):
            page.wait_for_function(
                f"document.documentElement.dataset.{state} !== undefined", timeout=60_000
            )
            metrics = session.send("Performance.getMetrics")["metrics"]
            spent[state] = next(one["value"] for one in metrics if one["name"] == "TaskDuration")
    return spent


@pytest.mark.rotating
def test_an_address_that_is_cut_off_draws_all_charts(browser: Browser, report: Path) -> None:
    with opened(browser, report, client="%E5%8C") as page:
        assert all(height > 50 for height, _ in drawn(page).values() if height)
        assert page.locator("#chosen").is_hidden()


@pytest.mark.rotating
def test_no_round_is_named_twice(page: Page) -> None:
    """Of three rounds Vega puts ticks at halves."""
    script = "texts => texts.map(text => text.textContent)"
    labels = page.eval_on_selector_all("#chart-rounds text", script)
    assert [label for label in labels if label.isdigit()] == ["1", "2", "3"]


@pytest.mark.rotating
def test_a_dark_page_is_printed_light_and_not_loaded_anew(browser: Browser, report: Path) -> None:
    style = "getComputedStyle(document.querySelector('#chart-rounds svg')).filter"
    with opened(browser, report, theme="dark") as page:
        page.evaluate("window.still = 'here'")
        page.emulate_media(media="print", color_scheme="light")  # as a browser prints
        page.wait_for_timeout(200)
        assert page.evaluate("window.still") == "here"
        assert page.evaluate(style).startswith("invert(1)")
    with opened(browser, report) as page:
        page.emulate_media(media="print")
        assert page.evaluate(style) == "none"


@pytest.mark.rotating
def test_a_page_that_is_loaded_anew_keeps_its_order_and_its_search(page: Page) -> None:
    """As ``fedkin watch`` does every ten seconds, also while somebody reads."""
    rows = "rows => rows.filter(row => !row.hidden).map(row => row.dataset.client)"
    page.locator("#table thead button").nth(0).click()
    page.locator("#table thead button").nth(0).click()
    page.locator("#table .filter").fill("dnn")
    assert page.eval_on_selector_all("#table tbody tr", rows) == ["b", "a"]
    page.reload()
    page.wait_for_function("document.documentElement.dataset.drawn !== undefined")
    assert page.eval_on_selector_all("#table tbody tr", rows) == ["b", "a"]
    assert page.locator("#table .filter").input_value() == "dnn"
    assert page.locator("#table thead th").nth(0).get_attribute("aria-sort") == "descending"
