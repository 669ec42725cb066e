"""Clients that no round had are said where they deploy what nobody trained."""

from pathlib import Path
from typing import Any

import pytest

from fedkin.experiment.run import run
from fedkin.report.page.report import write_report
from fedkin.report.summary import summary
from fedkin.runs.database import read_only
from tests.engine.small import small


def said(method: str, folder: Path, **settings: Any) -> list[str]:
    spec = small(method, run__participation=0.3, run__rounds=1, **settings)
    with read_only(run(spec, folder)) as database:
        return list(database.facts()["warnings"])


def test_who_was_never_drawn_is_counted(tmp_path: Path) -> None:
    expected = (
        "4 of 6 clients took part in no round: what ditto keeps of a personal model for its "
        "client alone is untrained there; raise run.rounds or run.participation"
    )
    assert said("ditto", tmp_path / "run") == [expected]
    assert expected in summary(tmp_path / "run")["warnings"]
    assert expected[1:] in write_report(tmp_path / "run").read_text()


@pytest.mark.parametrize("method", ["fedu", "fedpac", "fedas", "gpfl", "fedcp"])
def test_so_is_who_has_its_part_from_the_server_or_falls_back_on_the_initial_model(
    method: str, tmp_path: Path
) -> None:
    (one,) = said(method, tmp_path / "run", model__name="dnn")
    assert one.startswith(f"4 of 6 clients took part in no round: what {method} keeps")


def test_a_model_that_is_sent_is_everybodys(tmp_path: Path) -> None:
    assert said("fedavg", tmp_path / "run") == []
    (one,) = said("fedavg", tmp_path / "safe", method__safe=True)
    assert one.startswith("4 of 6 clients took part in no round: what fedavg with safe keeps")


def test_where_everybody_took_part_nothing_is_said(tmp_path: Path) -> None:
    spec = small("ditto", run__participation=1.0, run__rounds=1)
    with read_only(run(spec, tmp_path / "run")) as database:
        assert database.facts()["warnings"] == []
