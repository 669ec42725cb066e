"""Clients that were not in a run: what they get, and that nobody else notices."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.core.kinds import KINDS as SENT_KINDS
from fedkin.core.rng import Key
from fedkin.core.tree import named_leaves, row
from fedkin.engine.codec import encode
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.methods import METHODS
from fedkin.newcomers import local as newcomers
from fedkin.newcomers.local import (
    Learned,
    _same_kind,
    described_by,
    fewer,
    joined,
    place_for,
    standing,
)
from fedkin.newcomers.protocol import Joined
from fedkin.report.summary import summary
from fedkin.runs.database import read_only
from fedkin.runs.record import Sent
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from tests import awkward
from tests.engine.small import outcome, small
from tests.newcomers.local_examples import KINDS, kinds, learned
from tests.some_methods import some


def kept(folder: Path) -> list[dict]:
    with read_only(folder) as database:
        return database.facts()["newcomers"]


@pytest.mark.rotating
@pytest.mark.parametrize("method", some(METHODS))
def test_a_newcomer_gets_a_model_and_changes_nothing(method, tmp_path):
    spec = small(method, run__holdout_clients=0.2, run__holdout_labels=[], run__rounds=2)
    folder = run(spec, tmp_path / "run")
    at = learned(folder)
    before, state = (folder / "run.db").read_bytes(), encode(at.state)
    found, guest = joined(at, at.parts.held_out, None)
    assert encode(at.state) == state
    assert (folder / "run.db").read_bytes() == before
    view = guest.views(found.last)["personal"]
    assert all(torch.isfinite(torch.as_tensor(leaf)).all() for _, leaf in named_leaves(view))
    (protocol,) = kept(folder)  # what the run itself did with it, in its own process
    assert protocol["client"] == at.parts.held_out.names[0]
    assert protocol["rounds"] == found.rounds
    assert protocol["scores"]["personal"]["test"]["accuracy"] == found.scores["personal"]["test"][1]


@pytest.mark.parametrize("rounds", [None, 3])
def test_as_many_rounds_as_the_run_has_trained(rounds, tmp_path):
    """And not as many as it was to have: it may have stopped early, or go on."""
    spec = small("fedavg", run__holdout_clients=0.2, run__holdout_labels=[], run__rounds=4)
    at = learned(run(spec, tmp_path / "run"))
    own = at.parts.held_out.only([0])
    nothing = replace(own, val=(np.array([], dtype=np.int64),))
    found, _ = joined(at._replace(round=2), nothing, rounds)
    assert (found.rounds, found.chosen) == ((2, "training") if rounds is None else (3, "given"))


def test_held_out_clients_change_nothing_but_who_trains(tmp_path):
    held = small("cgpfl", run__holdout_clients=0.2, run__holdout_labels=[])
    whole = outcome(run(held, tmp_path / "held"))
    parts = assemble(held)
    assert len(parts.infos) == 5
    assert len({*parts.population.names, *parts.held_out.names}) == 6
    assert {row[1] for row in whole["metrics"]} == set(range(5))


def place(method: str, at: Learned, one: dict, guest) -> int:
    """The cluster, or the canonical model of the largest share."""
    if method == "ppfl":
        return int(np.argmax(one["notes"]["membership"]))
    if method != "ifca":
        return one["notes"]["cluster"]
    view = guest()
    models = [row(at.state["parameters"], k) for k in range(2)]
    return next(
        k for k, w in enumerate(models) if all(torch.equal(w[name], view[name]) for name in w)
    )


@pytest.mark.rotating
@pytest.mark.parametrize("method", KINDS)
def test_newcomers_are_placed_among_their_kin(method, tmp_path):
    at = kinds(method, tmp_path)
    told = summary(tmp_path / "run")["extras"]
    values = told["membership" if method == "ppfl" else "cluster"]
    of_kind = {
        int(client) % 2: int(np.argmax(v)) if method == "ppfl" else v
        for client, v in values.items()
    }
    assert len(set(of_kind.values())) == 2
    for k, one in enumerate(kept(tmp_path / "run")):

        def view(k=k):
            found, guest = joined(at, at.parts.held_out.only([k]), None)
            return guest.views(found.last)["personal"]

        assert place(method, at, one, view) == of_kind[int(one["client"]) % 2], one


def test_a_stopped_protocol_goes_on_where_it_was(tmp_path, monkeypatch):
    spec = small("ditto", run__holdout_clients=0.5, run__holdout_labels=[4])
    plain = run(spec, tmp_path / "plain")
    real, count = newcomers.join, []

    def stopping(*arguments):
        count.append(1)
        if len(count) == 4:  # two clients, with few labels and with all: in the midst of the second
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(newcomers, "join", stopping)
    with pytest.raises(Interrupted):
        run(spec, tmp_path / "stopped")
    assert len(kept(tmp_path / "stopped")) == 2
    monkeypatch.undo()
    resume(tmp_path / "stopped")
    assert outcome(tmp_path / "stopped") == outcome(plain)

    def timeless(found):
        return [{**one, "seconds": 0} for one in found]

    assert timeless(kept(tmp_path / "stopped")) == timeless(kept(plain))
    assert [one["asked"] for one in kept(plain)] == [4, None] * 3


def test_few_labels_are_a_part_of_all_and_the_test_stays(tmp_path):
    own = assemble(small("fedavg", run__holdout_clients=0.2)).held_out
    part = fewer(own, 8, Key(3))
    assert len(part.train[0]) + len(part.val[0]) == 8
    assert len(part.val[0]) == 2
    assert set(part.train[0]) < set(own.train[0])
    assert (part.test[0] == own.test[0]).all()


@pytest.mark.rotating
def test_a_newcomer_of_persfl_chooses_among_the_kept_models(tmp_path):
    settings = {"run__rounds": 6, "run__holdout_clients": 0.2, "run__holdout_labels": []}
    at = learned(run(small("persfl", method__kept=3, **settings), tmp_path / "run"))
    assert list(at.state["earlier"]) == ["2", "4", "5"]
    found, _ = joined(at, at.parts.held_out, None)
    assert found.places == 4
    losses = []
    for w in (at.state["parameters"], *at.state["earlier"].values()):
        alone = at._replace(state={"parameters": w})
        losses.append(_before_finish(alone, at.parts.held_out))
    assert found.place == int(np.argmin(losses))
    rounds = [6, 2, 4, 5]
    assert found.notes["teacher_round"] == rounds[found.place]
    for teacher in ("optimal", "final"):
        parts = assemble(small("persfl", method__kept=3, method__teacher=teacher, **settings))
        places = parts.method.newcomer_placements(at.state, 9, None)
        for number, place in zip(rounds, places, strict=True):
            method = parts.method._replace(newcomer_placements=lambda *_, at=place: (at,))
            placed = at._replace(parts=at.parts._replace(method=method))
            there, _ = joined(placed, at.parts.held_out, 2)
            assert there.notes["teacher_round"] == number
    plain = learned(run(small("persfl", **settings), tmp_path / "plain"))
    assert encode(plain.state) == encode({"parameters": at.state["parameters"]})


def _before_finish(at: Learned, own) -> float:
    """The validation loss of the newcomer's teacher."""
    method = at.parts.method._replace(finalize=None)
    found, _ = joined(at._replace(parts=at.parts._replace(method=method)), own, 1)
    return found.scores["personal"]["val"][0]


def test_what_does_not_fit_the_run_is_refused(tmp_path):
    at = kinds("comet", tmp_path)
    own = at.parts.held_out.only([0])
    for change, reason in (
        ({"x": own.x[:, :5]}, "shape"),
        ({"x": own.x.double()}, "dtype"),
        ({"y": own.y + 4}, "classes 0 to 3"),
        ({"task": "regression"}, "task"),
    ):
        wrong = SimpleNamespace(**{**vars(own), **change})
        with pytest.raises(FedkinError, match=reason):
            newcomers._same_kind(wrong, at.parts.population)
    with pytest.raises(FedkinError, match="architecture of this run"):
        joined(at, own, None, "dnn")


def test_the_architecture_is_that_of_a_client_of_its_size() -> None:
    """The larger half of the clients has the first one, the newcomer among them."""
    model = {"rule": "size", "map": {"large": "cnn", "small": "mlr"}}
    spec = parse({"method": {"name": "local"}, "data": {"name": "digits"}, "model": model})[0]
    infos = {k: SimpleNamespace(samples=size) for k, size in enumerate((10, 30, 20))}
    run: Any = SimpleNamespace(spec=spec, infos=infos, models={"cnn": 1, "mlr": 2})
    assert place_for(run, 40, None) == (3, "cnn")
    assert place_for(run, 5, None) == (3, "mlr")
    assert place_for(run, 25, "mlr") == (3, "mlr")
    with pytest.raises(FedkinError, match="did you mean 'cnn'"):
        place_for(run, 25, "cn")


def test_what_is_kept_of_a_join() -> None:
    sent = [
        Sent(4, "down", 0, {kind: 3 * k for k, kind in enumerate(SENT_KINDS)}, 70),
        Sent(4, "up", 0, {kind: 5 * (k == 0) for k, kind in enumerate(SENT_KINDS)}, 31),
        Sent(4, "down", 0, {kind: 1 * (k == 2) for k, kind in enumerate(SENT_KINDS)}, 8),
    ]
    scores = {"personal": {"test": (0.5, 0.75), "val": (math.inf, math.nan)}}
    measures = {"personal": {"test": {"auc": 0.25, "rmse": math.nan}}}
    notes = {"n": 1, "shares": [0.5, math.nan]}  # of a node, which may tell anything
    last: Any = None
    found = Joined(1, 3, 2, "validation", scores, measures, notes, sent, 1.5, last)
    kept = described_by(found, 14, 5, 6)
    assert (kept["train"], kept["val"], kept["test"]) == (14, 5, 6)
    assert (kept["rounds"], kept["place"], kept["places"]) == (2, 1, 3)
    assert (kept["chosen_by"], kept["seconds"]) == ("validation", 1.5)
    assert kept["notes"] == {"n": 1, "shares": [0.5, None]}
    assert kept["scores"]["personal"] == {
        "test": {"loss": 0.5, "accuracy": 0.75},
        "val": {"loss": None, "accuracy": None},
    }
    assert kept["measures"] == {"personal": {"test": {"auc": 0.25, "rmse": None}}}
    assert kept["bytes"] == {"up": 31, "down": 78}
    up, down = kept["scalars"]["up"], kept["scalars"]["down"]
    assert up == {SENT_KINDS[0]: 5}
    assert down == {kind: 3 * k + (k == 2) for k, kind in enumerate(SENT_KINDS) if k}
    assert described_by(found._replace(places=1, place=0), 1, 1, 1)["place"] is None
    assert described_by(found._replace(places=2, place=0), 1, 1, 1)["place"] == 0


def test_few_labels_keep_the_ratio_of_training_and_validation() -> None:
    own = awkward.population().only([3])  # 55 and 6
    part = fewer(own, 23, Key(5))
    assert (len(part.train[0]), len(part.val[0])) == (21, 2)
    assert set(part.train[0]) < set(own.train[0])
    assert set(part.val[0]) < set(own.val[0])
    assert part.train[0].tolist() == sorted(part.train[0])
    assert part.test[0].tolist() == own.test[0].tolist()
    assert fewer(own, 23, Key(6)).train[0].tolist() != part.train[0].tolist()


def test_who_chooses_by_validation_needs_some() -> None:
    method = SimpleNamespace(name="m", needs=SimpleNamespace(validation=True), hyper={})
    parts = SimpleNamespace(
        method=method,
        spec=SimpleNamespace(run=SimpleNamespace(seed=6), privacy=SimpleNamespace(at_client=False)),
        federation=SimpleNamespace(tools="tools"),
    )
    run, info = Learned(parts, {}, 5, None), SimpleNamespace(client=3)  # type: ignore[arg-type]
    with pytest.raises(FedkinError, match="m chooses by validation"):
        standing(run, info, 0)  # type: ignore[arg-type]
    method.hyper = {"safe": True}
    with pytest.raises(FedkinError, match=r"^method\.safe chooses by validation"):
        standing(run, info, 0)  # type: ignore[arg-type]
    found = standing(run, info, 1)  # type: ignore[arg-type]
    assert (found.round, found.seed, found.tools, found.validates) == (5, 6, "tools", True)
    method.needs.validation = False
    assert standing(run, info, 0).validates is False  # type: ignore[arg-type]
    parts.spec.privacy.at_client = True
    with pytest.raises(FedkinError, match=r"^clients of this run add noise"):
        standing(run, info, 1)  # type: ignore[arg-type]


def test_the_newcomers_data_are_of_the_runs_kind() -> None:
    people = awkward.population()
    for change, said in (
        ({"x": people.x[:, :3]}, r"shape \[3\], those of the run \[5\]"),
        ({"x": people.x.double()}, r"dtype torch\.float64, those of the run torch\.float32"),
        ({"task": "regression"}, "task regression, those of the run classification"),
    ):
        with pytest.raises(FedkinError, match=said):
            _same_kind(replace(people, **change), people)
    with pytest.raises(FedkinError, match="has class 10, but the run has classes 0 to 9"):
        _same_kind(people, replace(people, classes=10))
    _same_kind(people, people)


def test_with_few_labels_where_there_are_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each held-out client beyond the first ones; 0 is no number of labels."""
    asked: list[tuple[str, int, int]] = []

    def join(run: Any, own: Any, rounds: int | None) -> tuple[None]:
        assert rounds is None
        asked.append((own.names[0], len(own.train[0]), len(own.val[0])))
        return None, None

    monkeypatch.setattr(newcomers, "joined", join)
    monkeypatch.setattr(newcomers, "described", lambda found, own: {"has": len(own.train[0])})
    run_section = SimpleNamespace(holdout_labels=[61, 21, 10, 21, 60], seed=3)
    parts = SimpleNamespace(held_out=awkward.population(), spec=SimpleNamespace(run=run_section))
    at = Learned(parts, {}, 5, None)  # type: ignore[arg-type]
    found = list(newcomers.held_out(at, 2))
    assert [[one["asked"] for one in each] for each in found] == [
        [10, None],  # 12 and 9: 21 are all
        [10, 21, 60, None],  # 55 and 6
        [10, 21, None],  # 22 and 14
        [10, 21, None],  # 47 and 5
    ]
    assert [each[-1]["client"] for each in found] == ["s2", "s11", "s1", "s0"]
    assert asked[1] == ("s2", 12, 9)
    assert [sum(one[1:]) for one in asked] == [10, 21, 10, 21, 60, 61, 10, 21, 36, 10, 21, 52]
    parts.held_out = None  # type: ignore[assignment]
    assert list(newcomers.held_out(at)) == []
