"""Which runs the page of ``fedkin watch`` is of, and when it is made again."""

from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.report import live
from tests.report.records_for_tests import write


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that takes no time."""
    monkeypatch.setattr(live, "run_page", lambda run: f"page of {run.folder.name}")


def test_of_a_deployment_it_is_the_newest_run(tmp_path: Path) -> None:
    for name in ("2", "10", "9"):
        write(tmp_path / "runs" / name)
    found = live.Live(tmp_path)
    assert found.page() == ("page of 10", True)  # finished, and a further run may begin
    write(tmp_path / "runs" / "11")
    assert found.page() == ("page of 11", True)


def test_a_finished_run_does_not_change(tmp_path: Path) -> None:
    assert live.Live(write(tmp_path / "a")).page() == ("page of a", False)
    assert live.Live(write(tmp_path / "b", finished=False)).page() == ("page of b", True)


def test_a_folder_with_nothing_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(FedkinError, match="a sweep, a leaderboard or a deployment"):
        live.Live(tmp_path)


def test_of_more_runs_than_a_page_compares_it_says_how_many_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "RUNS", 2)
    monkeypatch.setattr(live, "comparison_page", lambda compared: "; ".join(compared.hints))
    folder = tmp_path / "my sweep"
    for name in ("a", "b"):
        write(folder / name)
    found = live.Live(folder)
    assert "not here" not in found.page()[0]
    for name in ("c", "d"):
        write(folder / name)
    said = "2 of 4 runs are not here, all but the first 2 by name: fedkin compare "
    assert said in found.page()[0]
    assert "my sweep'/* has all" in found.page()[0]
