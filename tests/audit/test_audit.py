"""``fedkin audit`` on small runs: it has teeth, changes nothing, and names mistakes."""

import hashlib
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fedkin import Experiment, Result
from fedkin.audit import audit as attacks
from fedkin.audit.audit import audit
from fedkin.audit.labels import Inferred
from fedkin.audit.losses import Observed
from fedkin.audit.page import tables, write_page
from fedkin.core.errors import FedkinError
from fedkin.core.rng import Key
from fedkin.data.canaries import canaries_of, plant
from fedkin.experiment.run import run
from fedkin.experiment.run_facts import privacy_of
from fedkin.methods import make
from fedkin.report.intervals import exact_of_share
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.setup.loaded_run import load
from tests.engine.small import content


def spec(method, **settings):
    given = {
        "run__participation": 1.0,
        "model__name": "dnn",
        "model__hidden": 40,
        "train__steps": 30,
        "train__lr": 0.5,
        **settings,
    }
    return parse(content(method, **given))[0]


def digests(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    run(spec("ditto", run__rounds=12, audit__canaries=240), folder)
    before = digests(folder)
    found = audit(folder)
    path = write_page(found, folder)
    after = digests(folder)
    return folder, found, before, after, path


def test_a_run_of_a_method_value_is_attacked_from_python(tmp_path):
    mine = make("fedavg", {}, {"lr": 0.1})._replace(name="mine")
    small = {"clients": 2, "rounds": 1, "steps": 2, "model": "mlr"}
    Experiment(mine, data="digits", split="iid", **small).run(tmp_path / "run")
    with pytest.raises(FedkinError, match=r"fedkin.Result\(.*, method=THE METHOD\)$"):
        audit(tmp_path / "run")
    found = Result(tmp_path / "run", mine).audit()
    assert (found["method"], found["clients"]) == ("mine", 2)
    assert found["membership"]


@pytest.mark.rotating
def test_a_run_without_noise_tells_who_was_trained_on(attacked):
    _, found, *_ = attacked
    by = {(one["target"], one["attack"]): one["auc"] for one in found["membership"]}
    assert by["personal", "loss"] > 0.515
    assert by["personal", "likelihood ratio"] > 0.53
    assert by["message", "likelihood ratio"] > 0.55
    assert {target for target, _ in by} == {"personal", "global", "message"}
    assert found["labels"]["correlation"] > 0.3
    assert found["labels"]["clients"] == 6
    told = found["properties"]
    assert told["kind"] == "parameters"
    assert told["has"] > 0.6
    assert told["most"] > told["chance"]
    assert -1 <= told["alike"] <= 1
    assert found["inversion"]["clients"] == 6
    assert found["inversion"]["closest"] > 0.5


class Diverging:
    """What is seen of six clients, of whom one diverged: each knows one sample better."""

    def __init__(self, client):
        self.model, self.client = SimpleNamespace(name="dnn"), client

    def losses(self, x, y):
        if self.client == 3:
            return np.full(len(y), np.inf)
        return np.where(y.numpy() == self.client, 0.1, 1.0 + 0.1 * self.client)


def test_one_client_that_diverged_takes_no_attack_on_the_others_away(monkeypatch):
    x, y = torch.zeros(6, 1), torch.arange(6)
    people = SimpleNamespace(x=x, y=y, classes=2, histogram=lambda _: np.eye(2, dtype=int)[y % 2])
    parts = SimpleNamespace(population=people)
    seen_of = {k: Observed({"personal": Diverging(k)}, {}, {}) for k in range(6)}
    for client in (0, 5):
        ratio = attacks._ratio(parts, seen_of, client, "personal", np.arange(6))
        assert np.isfinite(ratio).all()
        assert ratio.argmax() == client
    told = [np.full(2, np.nan) if k == 3 else np.eye(2)[k % 2] for k in range(6)]
    monkeypatch.setattr(attacks, "inferred", lambda *_: Inferred("parameters", told.pop(0)))
    found = attacks._told(parts, seen_of)
    assert found["labels"] == {"correlation": pytest.approx(1.0), "clients": 5}
    assert found["properties"]["most"] == 1.0


def test_canaries_prove_that_nothing_is_hidden(attacked):
    _, found, *_ = attacked
    by = {one["target"]: one for one in found["canaries"]}
    assert by["personal"]["lower"] > 0.2
    assert by["message"]["lower"] > 0.8
    assert {one["upper"] for one in by.values()} == {None}
    assert by["personal"]["canaries"] == 240
    for one in by.values():  # three numbers of guesses were tried
        share = exact_of_share(one["right"] / one["guesses"], one["guesses"], 1 - 0.05 / 3)
        assert one["share"] == list(share)
    assert found["accounted"] is None


def test_an_audit_changes_nothing_but_its_page(attacked):
    _, found, before, after, path = attacked
    assert path.name == "audit.html"
    assert {name for name in after if after[name] != before.get(name)} == {"audit.html"}
    assert set(before) <= set(after)
    text = path.read_text()
    assert "://" not in text.split("<script>")[0]  # nothing is fetched
    assert [shown.title for shown in tables(found)][-1].startswith("What is proved and promised")
    json.dumps(found)


def test_canaries_are_wrong_and_half_of_them_are_out():
    clean, planted = (assemble(spec("fedavg", audit__canaries=n)).population for n in (0, 200))
    told = canaries_of(planted)
    assert canaries_of(clean) is None
    assert len(told.rows) == len(set(told.rows.tolist())) == 200
    changed = np.flatnonzero((clean.y != planted.y).numpy())
    assert sorted(told.rows.tolist()) == changed.tolist()
    assert 70 < told.inside.sum() < 130
    trained = set(np.concatenate(planted.train).tolist())
    assert [row in trained for row in told.rows] == told.inside.tolist()
    owners = {row: k for k, rows in enumerate(clean.train) for row in rows.tolist()}
    assert [owners[row] for row in told.rows.tolist()] == told.clients.tolist()
    again = plant(clean, 200, Key(3))
    assert again.digest() == planted.digest()


def test_a_private_run_has_its_upper_bound(tmp_path):
    privacy = {"noise": 3.0, "clip": 0.2, "delta": 1e-5}
    given = {**content("fedavg", run__rounds=2, audit__canaries=60), "privacy": privacy}
    folder = run(parse(given)[0], tmp_path / "run")
    found = audit(folder)
    by = {one["target"]: one for one in found["canaries"]}
    assert by["global"]["upper"] == pytest.approx(2 * found["accounted"]["epsilon"])
    assert by["global"]["lower"] <= by["global"]["upper"]
    assert by["global"]["delta"] > 1e-5
    assert by["message"]["upper"] is None  # the server sees messages as they are
    kinds = {one["kind"]: one for one in found["kinds"]}
    assert list(kinds) == ["parameters", "scores", "notes", "numbers of samples"]
    assert kinds["parameters"]["lower"] == by["message"]["lower"]
    assert {one["upper"] for one in kinds.values()} == {None}


def test_a_run_that_ended_early_is_held_against_the_rounds_that_there_were(tmp_path, monkeypatch):
    # with noise that nobody knows no test can say when a run ends
    monkeypatch.setattr("fedkin.runs.secret_file.secrets.token_bytes", bytes)
    privacy = {"noise": 3.0, "clip": 0.2, "delta": 1e-5, "unit": "sample"}
    ends = {"run__rounds": 40, "run__patience": 1, "train__lr": 2.0}
    given = {**content("fedavg", audit__canaries=60, **ends), "privacy": privacy}
    found = audit(run(parse(given)[0], tmp_path / "run"))
    assert found["rounds"] == found["accounted"]["rounds"] < 40
    by = {one["target"]: one for one in found["canaries"]}
    assert by["global"]["upper"] == found["accounted"]["epsilon"]


def test_each_kind_has_what_is_promised_and_what_the_server_sees(tmp_path):
    privacy = {"noise": 3.0, "clip": 0.2, "delta": 1e-5, "where": "client"}
    given = content("fedavg", run__rounds=1, run__participation=1.0)
    for masks, seen in ((False, ("each client's",) * 4), (True, ("a sum", "a sum", "nothing"))):
        whole = {**given, "privacy": {**privacy, "secure_aggregation": masks}}
        folder = run(parse(whole)[0], tmp_path / str(masks))
        found = audit(folder)
        kinds = found["kinds"]
        assert tuple(one["seen"] for one in kinds)[: len(seen)] == seen
        of_one_more = privacy_of(load(folder).parts, again=1)
        assert kinds[0]["upper"] == of_one_more["epsilon_replaced"]
        assert kinds[0]["upper"] > found["accounted"]["epsilon_replaced"]
        assert [one["upper"] for one in kinds[1:]] == [None] * 3


def test_predictions_tell_properties(tmp_path):
    folder = run(spec("comet", run__rounds=6), tmp_path / "run")
    told = audit(folder)["properties"]
    assert told["kind"] == "predictions"
    assert told["has"] > 0.55
    assert told["alike"] > 0.1


@pytest.mark.parametrize("method", ["comet", "fedkd", "fedproto", "local", "scaffold"])
def test_methods_of_every_kind_are_attacked(method, tmp_path):
    folder = run(parse(content(method, run__rounds=1, run__participation=1.0))[0], tmp_path / "r")
    found = audit(folder)
    assert "personal" in {one["target"] for one in found["membership"]}
    assert all(0 <= one["auc"] <= 1 for one in found["membership"])
    assert (found["inversion"] is None) == (method != "scaffold")


def test_a_run_that_is_not_finished_is_refused(tmp_path):
    class Stop(Exception):
        pass

    def stop(record):
        if record.round == 1:
            raise Stop

    with pytest.raises(Stop):
        run(spec("fedavg"), tmp_path / "run", progress=stop)
    with pytest.raises(FedkinError, match="is not finished, and an audit is of the models"):
        audit(tmp_path / "run")


BAD = {
    "too many": ({"audit__canaries": 600}, "may be at most half of the .* training rows"),
    "negative": ({"audit__canaries": -1}, "audit.canaries"),
    "one": (
        {"audit__canaries": 1},
        "canaries are guessed by twos, and 1 is none: ask for 2 or more",
    ),
    "key": ({"audit__canary": 5}, "unknown key 'audit.canary'.*did you mean 'canaries'"),
    "numbers": (
        {"audit__canaries": 5, "data__name": "linear_toy", "split__name": "natural"},
        "needs one class a sample",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_gets_one_sentence_before_training(case):
    settings, sentence = BAD[case]
    given = content("fedavg", **settings)
    if "data__name" in settings:
        given["split"] = {"name": "natural"}
        given["model"] = {"name": "mlr"}
        given["run"].pop("clients")
    with pytest.raises(FedkinError, match=sentence) as told:
        assemble(parse(given)[0])
    assert "\n" not in str(told.value)


def test_it_is_loaded_with_the_data_that_it_was_trained_on(attacked):
    folder, *_ = attacked
    assert len(canaries_of(load(folder).parts.population).rows) == 240
