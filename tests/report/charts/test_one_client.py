"""A client's own view: charts that are empty until a client is chosen."""

import numpy as np
import pytest

from fedkin.report.charts.one_client import MOST_CLASSES, own_figures
from fedkin.report.charts.rounds import lines
from fedkin.report.collaboration import read_collaboration, shares
from fedkin.report.matrix import measured
from fedkin.report.records import opened
from fedkin.report.summary import of_run
from tests.awkward import CLASS_NAMES, CLASSES, SHUFFLED, record


@pytest.fixture
def own(tmp_path):
    with opened(record(tmp_path / "run")) as run:
        what, matrices = measured(run, of_run(run))
        scored = matrices["personal"]
        labels = list(CLASS_NAMES)
        args = run, read_collaboration(run), shares(run.clients), labels
        yield args, scored, lines(scored, run.name), what


def drawn(own, **changed):
    (run, told, distributions, labels), scored, curve, what = own
    given = {"labels": labels, "distributions": distributions, "scored": scored, **changed}
    found = own_figures(
        run, told, given["distributions"], given["labels"], given["scored"], curve, what
    )
    return {figure.name: figure for figure in found}


def test_everything_of_a_client_is_its_own(own) -> None:
    found = drawn(own)
    assert {"own-data", "own-score", "own-clusters"} <= found.keys()
    (_, _, distributions, _), scored, *_ = own
    data = found["own-data"]
    assert data.own.values.keys() == {member.name for member in SHUFFLED}
    assert data.own.values["s9"] == [round(float(v), 4) for v in distributions[1]]
    assert data.own.keys == [[name] for name in CLASS_NAMES]
    mean = np.mean(list(distributions.values()), axis=0)
    rows = data.spec["datasets"]["rows"]
    assert [row["share"] for row in rows] == [round(float(v), 4) for v in mean]
    grey = found["own-score"].spec["datasets"]["rows"]
    assert [row["round"] for row in grey] == scored.rounds
    assert [row["value"] for row in grey] == [round(band[2], 5) for band in scored.bands()]


def test_clusters_of_rounds_that_a_client_missed_are_the_last_told(own) -> None:
    found = drawn(own)["own-clusters"].own
    (_, told, *_), *_ = own
    at = [key[0] for key in found.keys]
    assert at == told.clusters.rounds
    values = dict(zip(at, found.values["s9"]))  # client 1 took part in round 2 alone
    assert values[1] is None
    assert values[2] == values[3] is not None


def test_what_is_not_known_is_not_drawn(own) -> None:
    assert "own-data" not in drawn(own, labels=[])
    assert "own-data" not in drawn(own, labels=["x"] * (MOST_CLASSES + 1))
    assert "own-data" not in drawn(own, distributions={})
    assert "own-score" not in drawn(own, scored=None)
    assert len(CLASS_NAMES) == CLASSES
