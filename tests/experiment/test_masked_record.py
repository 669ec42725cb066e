"""What the record of a run under masks holds of a client: no number of its own."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fedkin.core.errors import FedkinError
from fedkin.experiment.masked_record import federation_means, summed_labels
from fedkin.experiment.plain_baselines import plain_baselines
from fedkin.experiment.run import run
from fedkin.report.page.gain import gain_of
from fedkin.report.records import opened
from fedkin.report.summary import label_counts, of_run
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from tests.engine.small import content

SMALL = content("ditto", run__rounds=2, run__participation=1.0)
MASKS = {"secure_aggregation": True}


def test_a_record_under_masks_has_means_of_baselines_and_sums_of_labels(tmp_path: Path) -> None:
    spec = parse({**SMALL, "privacy": MASKS})[0]
    folder, population = run(spec, tmp_path / "run"), assemble(spec).population
    each = plain_baselines(population, "accuracy", "categorical")
    with opened(folder) as kept:
        assert {name: set(by) for name, by in kept.facts["baselines"].items()} == {
            name: {"-1"} for name in each
        }
        found = of_run(kept)
        for name, by in each.items():
            numbers = found["baselines"][name]
            assert numbers["mean"] == pytest.approx(sum(by.values()) / len(by))
            assert numbers["clients"] == len(by)
            assert numbers["worst_decile"] is numbers["std"] is numbers["interval"] is None
        assert gain_of(kept, found) is None  # a mean beside a mean tells of no client
        assert {tuple(client.histogram) for client in kept.clients.values()} == {()}
        assert label_counts(kept) == population.histogram("train").sum(0).tolist()


def test_nowhere_in_the_record_does_a_clients_own_baseline_stand(tmp_path: Path) -> None:
    spec = parse({**SMALL, "privacy": MASKS})[0]
    folder, population = run(spec, tmp_path / "run"), assemble(spec).population
    each = plain_baselines(population, "accuracy", "categorical")
    own = {repr(value) for by in each.values() for value in by.values()} - {"0.0", "1.0"}
    counts = [str(of_client) for of_client in population.histogram("train").tolist()]
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        written = "\n".join(connection.iterdump())
    numbers = set(re.findall(r"\d+\.\d+", written))  # whole ones: a time may have any digits
    assert own
    assert numbers
    assert not own & numbers
    assert not [text for text in counts if text in written]


def test_a_mean_of_too_few_clients_would_tell_a_clients_number() -> None:
    found = {"linear": {"0": 0.5, "4": 0.7}, "constant": {"0": 0.1, "1": 0.2, "2": 0.6}}
    assert federation_means(found) == {"constant": {"-1": pytest.approx(0.3)}}


def test_regressions_and_plain_runs() -> None:
    assert not assemble(parse(content("fedavg"))[0]).federation.masked
    numbers = parse({"data": {"name": "linear_toy"}, "split": {"name": "natural"}})[0]
    assert summed_labels(assemble(numbers)) == []


def test_nobody_joins_a_finished_run_under_masks() -> None:
    given = content("fedavg", run__holdout_clients=0.34, run__participation=1.0)
    with pytest.raises(FedkinError, match=r"^run\.holdout_clients: who joins a finished run works"):
        assemble(parse({**given, "privacy": MASKS})[0])
