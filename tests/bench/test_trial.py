"""One run of the leaderboard: what it scored, sent and computed."""

from contextlib import nullcontext
from math import inf
from types import SimpleNamespace

import pytest

from fedkin.bench import trial
from fedkin.bench.trial import bytes_up_and_down, largest_epsilon, method_of, run_trial, spec_of
from fedkin.core.errors import FedkinError, Halted
from fedkin.report.comparison.run_row import ComparedRun
from fedkin.runs.record import EPSILON
from fedkin.sweep import missing_score

CONTENT = {
    "data": {"name": "digits"},
    "method": {"name": "ditto", "lam": 0.7},
    "train": {"lr": 0.3},
    "run": {"rounds": 9},
}


def test_a_specification_is_run_in_one_process() -> None:
    spec = spec_of(CONTENT, "/sets")
    assert (spec.method.name, spec.method.options) == ("ditto", {"lam": 0.7})
    assert (spec.engine.name, spec.engine.compile, spec.data.dir) == ("inprocess", "auto", "/sets")
    assert spec_of(CONTENT).data.dir is None
    assert method_of(CONTENT) is None
    engine = {"device": "cuda:1", "state": "disk", "name": "processes"}
    asked = spec_of({**CONTENT, "engine": engine}).engine
    assert (asked.name, asked.device, asked.state) == ("inprocess", "cuda:1", "disk")
    with pytest.raises(FedkinError, match=r"^bench: \[engine\]|engine"):
        spec_of({**CONTENT, "engine": 3})
    outside = {**CONTENT, "method": {"name": "mine:method", "near": 1}}
    assert spec_of(outside).method.name == "fedavg"  # it is given as a value beside it


def test_bytes_of_every_message_are_counted() -> None:
    def part(up, down):
        return {"unicast": {"bytes": {"up": up, "down": down, "total": up + down}}}

    told = {**part(100, 1000), "setup": part(7, 0), "finish": part(0, 50)}
    assert bytes_up_and_down(told) == (107, 1050)


def test_privacy_costs_what_it_costs_the_worst() -> None:
    assert largest_epsilon({"extras": {EPSILON: {"a": 1.5, "b": None, "c": 4}}}) == 4.0
    assert largest_epsilon({"extras": {}}) is None


def test_a_run_is_summed_up_once(tmp_path, monkeypatch) -> None:
    """Its end reads every score; a row that is checked needs them once."""
    from fedkin.report import summary

    asked, of_run = [], summary.of_run

    def counting(*given, **named):
        asked.append(given)
        return of_run(*given, **named)

    for module in ("fedkin.report.summary", "fedkin.report.comparison.run_row"):
        monkeypatch.setattr(f"{module}.of_run", counting)
    content = {**CONTENT, "run": {"rounds": 1, "clients": 3}}
    found = run_trial(content, tmp_path / "run", None)
    assert found.found["finished"]
    assert len(asked) == 1


@pytest.mark.parametrize("name", ["experiment.toml", "run.db"])
def test_a_run_that_cannot_be_gone_on_with_begins_anew(name, tmp_path) -> None:
    """A damaged file says nothing of the values that are tried: no trial is lost by it."""
    content = {**CONTENT, "run": {"rounds": 1, "clients": 3}}
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("damaged [")
    assert run_trial(content, tmp_path / "run", None).found["finished"]


def test_a_folder_that_cannot_be_made_is_no_fault_of_what_is_tried(tmp_path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(Halted, match="cannot be made: Not a directory"):
        run_trial({**CONTENT, "run": {"rounds": 1, "clients": 3}}, tmp_path / "runs" / "run", None)


@pytest.mark.parametrize(
    ("measure", "samples", "validation", "why"),
    [
        ("auc", 20, None, "no client's validation samples define auc: choose another"),
        ("auc", 0, None, "clients have no validation samples"),
        ("accuracy", 20, None, "clients have no validation samples"),
        ("accuracy", 20, -inf, "the validation score is no finite number"),
    ],
)
def test_a_run_without_a_validation_score_says_why(
    measure, samples, validation, why, tmp_path, monkeypatch
) -> None:
    """One that no sample defines has not diverged."""
    seen = ComparedRun({}, measure=measure, validation=validation)
    record = SimpleNamespace(clients={"a": SimpleNamespace(val=samples)})
    monkeypatch.setattr(trial, "_trained", lambda *given: None)
    monkeypatch.setattr(trial, "read_with_summary", lambda *given: (seen, {}))
    monkeypatch.setattr(missing_score, "opened", lambda run: nullcontext(record))
    with pytest.raises(FedkinError, match=f"^{why}"):
        run_trial(CONTENT, tmp_path / "run", None)
