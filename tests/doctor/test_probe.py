"""Short runs from which the cost of a whole one is told."""

import pytest

from fedkin.core.errors import FedkinError
from fedkin.doctor import probe as module
from fedkin.doctor.probe import probe
from fedkin.experiment.training import Interrupted
from fedkin.report.records import opened
from fedkin.report.summary import summary
from fedkin.runs.directory import states_of
from fedkin.runs.spec import MethodSection
from tests.awkward import record
from tests.engine.small import small


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """A run of three rounds that nobody trained, in the place of every probe."""
    folder = record(tmp_path / "run")
    states_of(folder).mkdir()
    (states_of(folder) / "a").write_bytes(bytes(700))
    (states_of(folder) / "b").write_bytes(bytes(55))
    asked = []

    def run(spec, out, method):
        asked.append(spec)
        return folder

    monkeypatch.setattr(module, "run", run)
    return folder, asked


def test_rounds_cost_as_often_and_what_is_once_costs_once(recorded) -> None:
    folder, asked = recorded
    told = probe(
        small(run__rounds=30, engine__name="processes"), "ours", MethodSection(name="ditto"), 3
    )
    found = summary(folder)
    with opened(folder) as run:
        once = sum(parts["total"] for phase, parts in run.seconds() if phase != "round")
    sent = found["communication"]
    apart = sum(sent[phase]["unicast"]["bytes"]["total"] for phase in ("setup", "finish"))
    assert once > 0
    assert apart > 0
    assert told.seconds == pytest.approx(found["seconds"]["per_round"] * 3 * 10 + once)
    assert told.bytes == 10 * sent["unicast"]["bytes"]["total"] + apart
    assert told.memory == 755
    assert (told.method, told.failed) == ("ours", "")
    (spec,) = asked
    assert (spec.method.name, spec.run.rounds, spec.engine.name) == ("ditto", 3, "inprocess")
    assert spec.run.evaluate_every <= 3


def test_a_method_that_does_not_fit_says_why_and_ctrl_c_ends_all(monkeypatch) -> None:
    def refuse(spec, out, method):
        raise FedkinError("it needs a head")

    monkeypatch.setattr(module, "run", refuse)
    told = probe(small(), "fedrep", MethodSection(name="fedrep"), 1)
    assert (told.failed, told.seconds, told.memory) == ("it needs a head", 0.0, 0)

    def stop(spec, out, method):
        raise Interrupted("stopped")

    monkeypatch.setattr(module, "run", stop)
    with pytest.raises(Interrupted):
        probe(small(), "fedrep", MethodSection(name="fedrep"), 1)
