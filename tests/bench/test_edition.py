"""The committed rows: whole, each once, with both baselines; the pages' tables are theirs."""

from collections import Counter

from benchmarks.leaderboard import DOCS, ROWS, rows, tables
from fedkin.bench.case import case_of
from fedkin.bench.row import read_rows
from fedkin.bench.search import search_of, trials
from fedkin.bench.suite import BASELINES, digest, settled, suite

FOUND = rows()


def test_rows_are_each_there_once_and_can_be_run_again() -> None:
    assert FOUND
    assert len({row.id for row in FOUND}) == len(FOUND)
    for row in FOUND:
        assert row.missing or (row.fingerprint and row.content and row.clients and row.own_digest)
        assert "dir" not in row.content.get("data", {})


def test_rows_of_har_keep_their_case_though_its_setting_says_parted() -> None:
    har = [row for row in FOUND if (row.suite, row.setting) == ("standard", "har")]
    mine = [row for row in har if row.method in BASELINES]
    assert mine
    for row in mine:
        asked = suite(row.suite)
        assert asked.settings[row.setting].spec["public"]["groups"] == "parted"
        given = case_of(row.suite, asked, row.setting, row.method, row.data_digest)
        assert row.case == given.digest
        assert row.id == digest([row.case, settled(row.content)])


def test_every_federation_has_both_baselines() -> None:
    for federation in {row.federation for row in FOUND}:
        methods = {row.method for row in FOUND if row.federation == federation}
        assert {"local", "fedavg"} <= methods


def test_every_method_had_as_many_trials_or_all_that_it_has() -> None:
    suites = {name: suite(name) for name in {row.suite for row in FOUND}}
    for row in FOUND:
        asked = suites[row.suite]
        own, _ = search_of(row.method)
        assert len(row.trials) == len(trials(asked.rates, own, asked.trials)), row.method


def test_the_tables_are_those_of_the_rows() -> None:
    """Else: python -m benchmarks.leaderboard."""
    for page, place, table in tables():
        assert f"<!-- {place} -->\n{table}" in page.read_text(encoding="utf-8")


def test_the_page_counts_the_rows_whose_commit_was_not_published() -> None:
    every = [row for path in ROWS.glob("*.jsonl") for row in read_rows(path)]
    counts = Counter(row.commit for row in every)
    text = " ".join((DOCS / "bench.md").read_text(encoding="utf-8").split())
    assert f"{counts['0179ca0a2eed']} rows of `small` name commit `0179ca0a2eed`" in text
    assert f"{counts['40e87bf4c989']} rows of both suites `40e87bf4c989`" in text
