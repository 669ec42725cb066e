"""The page of a comparison, in a real browser."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Browser

from fedkin.report.comparison.compare import comparison
from fedkin.report.comparison.page import best_gain, page, write_comparison
from fedkin.report.comparison.what_next import what_next
from tests.report.browser import opened, started
from tests.report.records_for_tests import write


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as found:
        yield found


def runs(folder: Path) -> list[Path]:
    """local and a better comet, one that is not finished and one that is damaged."""
    local, comet, half = (
        write(folder / name, method=name, finished=name != "half")
        for name in ("local", "comet", "half")
    )
    with sqlite3.connect(comet / "run.db") as database:
        database.execute(
            "UPDATE metrics SET accuracy = accuracy + 0.1 WHERE client = 1 AND split = 'test'"
        )
        database.execute("UPDATE messages SET bytes = 10 * bytes")
    damaged = folder / "damaged"
    damaged.mkdir()
    (damaged / "run.db").write_text("nothing")
    return [local, comet, half, damaged]


def test_the_sentence_names_the_best_or_the_only_one(tmp_path: Path) -> None:
    local, comet, *_ = runs(tmp_path)
    one = best_gain(comparison([local, comet]))  # client 1 of three gains 10 points: 3.33
    assert one.startswith(
        "comet is better than local on average: test accuracy +3.33 points (95 % interval "
    )
    assert one.endswith(", which may be chance) over 3 clients; 33 % of them do better, 0 % worse.")
    worse = write(tmp_path / "worse", method="ditto")
    with sqlite3.connect(worse / "run.db") as database:
        database.execute("UPDATE metrics SET accuracy = accuracy - 0.1 WHERE split = 'test'")
    both = best_gain(comparison([local, worse, comet]))
    assert both.startswith(
        "Of 2 experiments compared with local, comet gains most on average: test accuracy +3.33 "
    )
    alone = best_gain(comparison([local, worse]))
    assert alone.startswith("ditto is worse than local on average: test accuracy −10.00 points (")


def test_where_nobody_gains_the_sentence_says_so() -> None:
    """Who loses least is not called the best, and an interval has its unit once."""
    pair = {"measure": "accuracy", "method": "ditto", "setting": "", "clients": 5, "seeds": [0]}
    pair |= {"difference": -0.05, "low": -0.1, "high": 0.01, "better": 0.2, "worse": 0.6}
    pairs = [pair, {**pair, "method": "comet", "difference": -0.1}]
    said = best_gain(SimpleNamespace(pairs=pairs, baseline="local"))  # type: ignore[arg-type]
    assert said.startswith(
        "Of 2 experiments compared with local, none is better on average; ditto comes nearest: "
        "test accuracy −5.00 points (95 % interval −10.00 … +1.00 points, which may be chance) over"
    )
    error = {**pair, "measure": "rmse", "difference": -0.05}  # of an error less is better
    said = best_gain(SimpleNamespace(pairs=[error], baseline="local"))  # type: ignore[arg-type]
    assert said.startswith("ditto is better than local on average: test RMSE −0.0500 (")


@pytest.mark.parametrize(
    ("low", "high", "sure"),
    [(0.0, 0.1, False), (0.01, 0.1, True), (-0.1, 0.0, False), (-0.1, -0.01, True)],
)
def test_an_interval_that_touches_zero_may_be_chance(low: float, high: float, sure: bool) -> None:
    pair = {"measure": "accuracy", "method": "ditto", "setting": "", "clients": 5, "seeds": [0]}
    pair |= {"difference": 0.05, "low": low, "high": high, "better": 0.6, "worse": 0.2}
    said = best_gain(SimpleNamespace(pairs=[pair], baseline="local"))  # type: ignore[arg-type]
    assert ("which may be chance" in said) != sure
    assert said.endswith("over 5 clients; 60 % of them do better, 20 % worse.")


def test_tables_of_the_page_name_their_measure_and_no_column_is_empty(tmp_path: Path) -> None:
    alike = [
        write(tmp_path / f"{name}{seed}", method=name, seed=seed)
        for name in ("local", "comet")
        for seed in (7, 8)
    ]
    text = page(comparison(alike))
    assert "Test accuracy in % over clients, personal view, final round; by val.: weighted" in text
    assert "differ only in seed: test accuracy in %, mean ± sd over seeds" in text
    assert ">setting</button>" not in text
    other = write(tmp_path / "other", method="comet", hyper={"lam": 2.0}, seed=7)
    assert ">setting</button>" in page(comparison([*alike, other]))


def test_one_pair_is_not_told_apart_and_has_no_interval(tmp_path: Path) -> None:
    local, comet, *_ = runs(tmp_path)
    for folder in (local, comet):
        with sqlite3.connect(folder / "run.db") as database:
            database.execute("DELETE FROM metrics WHERE split = 'test' AND client != 1")
    found = comparison([local, comet])
    assert [(row["clients"], row["low"]) for row in found.pairs] == [(1, None)]
    said = best_gain(found)
    assert "+10.00 points (95 % interval –, which may be chance) over 1 client;" in said
    assert what_next(found)[0].text.endswith("0 worse, 1 not distinguished from it.")
    assert write_comparison(found, tmp_path / "page.html").is_file()


def test_under_several_seeds_a_client_is_several_pairs(tmp_path: Path) -> None:
    folders = [
        write(tmp_path / f"{name}{seed}", method=name, seed=seed)
        for name in ("local", "comet")
        for seed in (7, 8)
    ]
    with sqlite3.connect(folders[2] / "run.db") as database:
        database.execute(
            "UPDATE metrics SET accuracy = accuracy - 0.1 WHERE client = 1 AND split = 'test'"
        )
    found = comparison(folders)
    assert "over 6 pairs of client and seed; 0 % of them do better, 17 %" in best_gain(found)
    assert any(step.text.startswith("17 % of the pairs do worse.") for step in what_next(found))


@pytest.mark.rotating
def test_the_page_sorts_compares_and_averages_only_what_is_finished(
    browser: Browser, tmp_path: Path
) -> None:
    path = write_comparison(comparison(runs(tmp_path)), tmp_path / "page.html")
    with opened(browser, path, width=390) as page:
        assert int(page.evaluate("document.documentElement.dataset.drawn")) == 5
        told = page.locator(".warn").all_inner_texts()
        assert any("half is unfinished" in text for text in told)
        assert any("damaged is damaged" in text for text in told)
        page.locator("#runs th button", has_text="mean").click()
        page.locator("#runs th button", has_text="mean").click()
        rows = [row.split("\t") for row in page.locator("#runs tbody tr").all_inner_texts()]
        assert [row[0] for row in rows] == [
            "comet",
            "local",
            "half",
            "damaged",
        ]  # descending, stable
        assert rows[0][5] == "63.33"  # (0.5 + 0.6 + 0.8) / 3
        shown = {name: spec["datasets"]["rows"] for name, spec in page.evaluate(FIGURES)}
        assert [(row["run"], row["front"]) for row in shown["pareto"] if "front" in row] == [
            ("local", True),
            ("comet", True),
        ]
        assert {row["run"] for row in shown["fairness"]} == {"local", "comet"}
        assert {row["run"]: row["state"] for row in shown["over-round"]}["half"] == "unfinished"
        assert [row["of"] for row in shown["against"]] == [[0.5, 0.5], [0.5, 0.6], [0.8, 0.8]]
        assert page.locator("#chart-against select").count() == 2
        assert page.locator("#chart-against path[aria-label*='helped']").count() == 1
        page.locator("#chart-against select").first.select_option("comet")
        page.locator("#chart-against select").nth(1).select_option("local")
        page.wait_for_selector("#chart-against path[aria-label*='hurt']", state="attached")


FIGURES = "JSON.parse(document.getElementById('figures').textContent).map(f => [f.name, f.spec])"


def test_what_costs_more_is_sorted_behind_whatever_its_unit(tmp_path: Path) -> None:
    folders = [
        write(tmp_path / f"{name}{seed}", method=name, seed=seed)
        for name in ("local", "comet")
        for seed in (7, 8)
    ]
    found = comparison(folders)
    for row, seconds in zip(found.over_seeds, (0.9, 1.2), strict=True):
        row["seconds"] = seconds
    text = page(found)
    assert re.findall(r'data-v="([^"]*)">(?:900 ms|1.2 s) ±', text) == ["0.9", "1.2"]
    assert 'class="long">finished' not in text  # which left no room for the scores


@pytest.mark.rotating
def test_every_run_is_a_choice_beside_the_means_over_seeds(
    browser: Browser, tmp_path: Path
) -> None:
    folders = [
        write(tmp_path / f"{name}{seed}", method=name, seed=seed)
        for name in ("local", "comet")
        for seed in (7, 8)
    ]
    path = write_comparison(comparison(folders), tmp_path / "page.html")
    with opened(browser, path) as page:
        caption = page.locator("#over-round figcaption")
        assert "Lines: means over 2 seeds" in caption.inner_text()
        assert page.locator("#chart-over-round").get_by_text("comet", exact=True).count() == 1
        page.locator("#over-round select").select_option("every run")
        page.locator("#chart-over-round").get_by_text("comet7").wait_for()
        assert caption.inner_text().endswith("Runs that differ only in seed have one colour.")
        assert "means over" not in caption.inner_text()
