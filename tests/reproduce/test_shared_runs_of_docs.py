"""Pages of docs/reproduction about the runs of another table: what they say is what its CSV has."""

from statistics import mean

import pytest

from fedkin.reproduce.finished_rows import FinishedRuns, read
from fedkin.reproduce.pages import TITLES
from fedkin.reproduce.preset import published
from tests.reproduce.test_numbers_of_docs import (
    PAGES,
    SETTING,
    measured,
    of_page,
    prose,
    table,
)


@pytest.fixture(scope="module")
def kept() -> FinishedRuns:
    return read(PAGES)


def of_row(kept: FinishedRuns, name: str) -> dict[int, float]:
    """A row's processor minutes, by seed."""
    return {one.seed: one.seconds / 60 for one in kept.values() if one.row == name and one.seconds}


def test_ppfl_s_minutes_are_the_seconds_of_table_1(kept: FinishedRuns) -> None:
    lines = list(table(PAGES / "ppfl-table-3.md", "row", "what", "published", "measured"))
    told = {line[0]: (line[3], line[5]) for line in lines if line[3] != "not run"}
    assert len(told) == 16
    for name, cells in told.items():
        minutes = of_row(kept, name)
        assert cells == (of_page(minutes), ", ".join(map(str, sorted(minutes))))


@pytest.mark.parametrize(
    ("name", "measure", "rows"), [("persfl-table-7", "rounds", 15), ("ppfl-figure-5", "", 16)]
)
def test_accuracies_are_those_of_the_other_table(
    kept: FinishedRuns, name: str, measure: str, rows: int
) -> None:
    lines = list(table(PAGES / f"{name}.md", "row", "what", "published", "measured"))
    of_accuracy = [line for line in lines if line[1] == TITLES["accuracy"] and line[5]]
    assert len(of_accuracy) == rows
    for line in of_accuracy:
        found = {
            one.seed: one.numbers["accuracy"] or 0.0 for one in kept.values() if one.row == line[0]
        }
        assert line[3] == of_page(found), line[0]
    rounds = [line for line in lines if measure and line[1] == TITLES[measure]]
    assert all(line[2] == line[3].removesuffix(" ± 0.00") for line in rounds)


def test_what_a_method_of_ppfl_costs_beside_fedavg(kept: FinishedRuns) -> None:
    printed = {line["method"]: line for line in published("ppfl_table3_time")}
    lines = list(table(PAGES / "ppfl-setting.md", "method, times FedAvg", "MNIST", "paper"))
    assert len(lines) == 7
    for method, *cells in lines:
        theirs = printed["ppfl" if method.startswith("ppfl") else method]
        for data, (ours, paper) in zip(("mnist", "synthetic"), (cells[:2], cells[2:]), strict=True):
            own, other = (of_row(kept, f"ppfl-t1-{data}-{one}") for one in (method, "fedavg"))
            assert ours == f"{mean(own[seed] / other[seed] for seed in other):.2f}"
            assert paper == f"{float(theirs[data]) / float(printed['fedavg'][data]):.2f}"


def test_how_l2sgd_ended_is_what_the_csv_has() -> None:
    """Its two rows by local steps: what was published, and where seed 0 ended."""
    numbers, printed = measured("cgpfl-table-1"), published("cgpfl_table1")
    l2sgd = next(line for line in printed if line["method"] == "l2sgd")
    lines = {line[0]: line for line in table(SETTING, "k", "1", "2", "3, 4")}
    for data in ("mnist", "fmnist"):
        assert lines[f"{data}, dnn"][-1] == l2sgd[f"{data}_dnn"]
    ended = [numbers[f"cgpfl-t1-{data}-dnn-l2sgd", "accuracy"][0] for data in ("mnist", "fmnist")]
    assert f"at {ended[0]:.2f} and {ended[1]:.2f}." in prose(SETTING)
