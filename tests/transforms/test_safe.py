"""[method] safe: the model beside is ``local``'s, and who deploys what follows from validation."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

from fedkin.core.errors import FedkinError
from fedkin.core.family import CATEGORICAL, GAUSSIAN
from fedkin.core.method import ClientInfo
from fedkin.core.model import from_module
from fedkin.core.rng import Key
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.experiment.run import run
from fedkin.export.opened_run import Opened
from fedkin.methods import make
from fedkin.report.summary import summary
from fedkin.report.words.deployed import summed_up
from fedkin.runs.spec import Spec, parse
from fedkin.runtime.replay import Runtime
from fedkin.transforms.safe import Judge, blend, choice, chosen, errors, losses
from tests.methods.federation import architecture, population


def spec(method: str, **changes: object) -> Spec:
    content = {
        "data": {"name": "digits"},
        "split": {"name": "dirichlet", "alpha": 2.0},
        "model": {"name": "dnn", "hidden": 8},
        "method": {"name": method, **changes},
        "train": {"steps": 6, "lr": 0.2, "milestones": [2], "decay": 0.5},
        "engine": {"name": "inprocess"},
        "run": {"clients": 6, "rounds": 5},
    }
    return parse(content)[0]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Opened]:
    """The same clients alone, federated, and safe."""
    root = tmp_path_factory.mktemp("safe")
    specs = {"local": spec("local"), "fedavg": spec("fedavg"), "safe": spec("fedavg", safe=True)}
    return {name: Opened(run(one, out=root / name)) for name, one in specs.items()}


def test_the_model_beside_is_that_of_local_and_the_shared_one_that_of_the_method(
    three: dict[str, Opened],
) -> None:
    for client in range(6):
        own = three["safe"].coordinator.transport.host.personal_state(client)  # type: ignore[attr-defined]
        alone = three["local"].view(three["local"].member(client))
        for name, value in alone.items():
            assert torch.equal(own["alone"][name], value)
    shared = three["safe"].view(three["safe"].member(0), "global")["shared"]
    for name, value in three["fedavg"].view(three["fedavg"].member(0)).items():
        assert torch.equal(shared[name], value)


def test_an_optimizer_that_remembers_does_so_for_the_model_beside_as_for_local(tmp_path: Path):
    kept = {"optimizer": "sgd", "momentum": 0.9, "state": "kept"}

    def opened(method: str, **changes: object) -> Opened:
        asked = spec(method, **changes)
        train = type(asked.train).model_validate({**asked.train.model_dump(), **kept})
        name = f"{method} {len(changes)}"
        return Opened(run(asked.model_copy(update={"train": train}), out=tmp_path / name))

    safely, alone, together = opened("fedavg", safe=True), opened("local"), opened("fedavg")
    for client in range(6):
        own = safely.coordinator.transport.host.personal_state(client)  # type: ignore[attr-defined]
        while "alone" not in own:
            own = own["own"]
        for name, value in alone.view(alone.member(client)).items():
            assert torch.equal(own["alone"][name], value)
    shared = safely.view(safely.member(0), "global")["shared"]
    for name, value in together.view(together.member(0)).items():
        assert torch.equal(shared[name], value)


def test_who_deploys_what_follows_from_the_validation_rows(three: dict[str, Opened]) -> None:
    """Recomputed from the models of the two other runs, with scipy's sign test."""
    pop = three["local"].parts.population
    found = summary(three["safe"].folder)["extras"]
    taken = set()
    for client in range(6):
        rows = pop.rows("val")[client]
        x, y = pop.x[rows], pop.y[rows].numpy()
        logs = []
        for name in ("local", "fedavg"):
            model = three[name].personal(three[name].member(client))
            with torch.no_grad():
                logs.append(model(x).log_softmax(1).numpy())
        p = np.exp(logs)
        alone = (p[0].argmax(1) != y).astype(float)
        right = np.arange(len(y)), y
        best, expected = (2.0, 0.0), 0.0
        for level, shares in ((0.025, (1.0,)), (0.025, (0.75,)), (0.5, (0.5, 0.25))):
            for share in shares:
                mixture = share * p[1] + (1 - share) * p[0]
                cost = (mixture.argmax(1) != y).astype(float)
                loss = -np.log(mixture[right]).mean()
                wins, differ = int((alone > cost).sum()), int((alone != cost).sum())
                if level == 0.5 and 2 * wins == differ:
                    if loss > -np.log(p[0][right]).mean():
                        break
                elif not wins or binomtest(wins, differ, alternative="greater").pvalue > level:
                    break
                if (cost.mean(), loss) < best:
                    best, expected = (cost.mean(), loss), share
        assert found["safe_share"][pop.names[client]] == expected
        taken.add(expected)
        view = three["safe"].view(three["safe"].member(client))
        parts = {0.0: {"alone"}, 1.0: {"shared"}}.get(expected, {"shared", "alone", "share"})
        assert set(view) == parts
    assert 0.0 in taken, "the fixture shall have clients of both kinds"
    assert len(taken) > 1, "the fixture shall have clients of both kinds"


def test_the_run_says_how_many_deploy_what(three: dict[str, Opened]) -> None:
    found = summary(three["safe"].folder)
    shares = list(found["extras"]["safe_share"].values())
    (said,) = summed_up(found)
    assert f"of 6 clients {shares.count(1.0)} deploy the federated model" in said
    assert f"{shares.count(0.0)} their own" in said
    assert found["hyper"]["safe"] is True
    assert summed_up(summary(three["fedavg"].folder)) == []


def test_nothing_more_is_sent_in_a_round(three: dict[str, Opened]) -> None:
    safe_, plain = (summary(three[name].folder)["communication"] for name in ("safe", "fedavg"))
    assert safe_["paper"] == plain["paper"]
    assert safe_["unicast"] == plain["unicast"]
    size = sum(value.numel() for value in three["local"].parts.models["dnn"].initial.values())
    told = safe_["finish"]["unicast"]["scalars"]  # the last model, which comes down to be judged
    assert told["down"] == 6 * size
    assert plain["finish"]["unicast"]["scalars"]["down"] == 0


def test_a_mixture_is_one_of_probabilities_and_of_means() -> None:
    classes = from_module("m", torch.nn.Linear(2, 3), CATEGORICAL)
    numbers = from_module("n", torch.nn.Linear(2, 1), GAUSSIAN)
    p, q = torch.tensor([[0.7, 0.2, 0.1]]), torch.tensor([[0.1, 0.1, 0.8]])
    mixture = blend(classes, p.log(), q.log(), torch.tensor(0.25)).exp()
    torch.testing.assert_close(mixture, 0.25 * p + 0.75 * q)
    means = blend(numbers, torch.tensor([[4.0]]), torch.tensor([[0.0]]), torch.tensor(0.75))
    assert means.item() == 3.0
    y = torch.tensor([2])
    assert errors(classes, p.log(), y).item() == 1.0
    assert losses(classes, q.log(), y).item() == pytest.approx(-np.log(0.8))
    assert errors(numbers, torch.tensor([[3.0]]), torch.tensor([1.0])).item() == 4.0


@pytest.mark.parametrize(
    ("own", "shared", "expected"),
    [
        (0.6, 0.9, 0.5),  # both right, the federated one surer
        (0.9, 0.6, 0.0),  # both right, the own one surer
        (0.9, 0.2, 0.0),  # the federated one wrong
        (0.4, 0.9, 1.0),  # the own one wrong in all six rows: proven at 2.5 %
    ],
)
def test_log_loss_decides_where_a_mixture_is_right_as_often(
    own: float, shared: float, expected: float
) -> None:
    """Not on the federated model alone, which has to be right more often."""
    model = from_module("m", torch.nn.Linear(2, 2), CATEGORICAL)
    p, q = (torch.tensor([[share, 1 - share]] * 6).log() for share in (shared, own))
    y = torch.zeros(6, dtype=torch.long)
    assert choice(model, p, q, y, errors)[0] == expected
    assert choice(model, p[:0], q[:0], y[:0], errors) == (0.0, 1.0), "no rows say nothing"


@pytest.mark.parametrize("judge", [errors, losses])
def test_a_model_that_diverged_is_not_deployed(judge: Judge) -> None:
    """All samples are of class 0, which argmax finds in a row of NaN."""
    people = population(sizes=(5, 9), val=30)
    people = replace(people, y=torch.zeros_like(people.y))
    info = ClientInfo(1, "mlr", 9, torch.tensor([9.0, 0.0, 0.0]), 0, 3)
    data = LocalData(info, architecture(), Key(7, 2, 1), people, Runtime("never"), Schedule(4))
    w = data.model.initial
    nothing = {name: torch.full_like(value, float("nan")) for name, value in w.items()}
    fedavg = make("fedavg", {}, {"lr": 0.1})
    assert chosen(fedavg, nothing, w, data, judge)[0] == 0.0
    assert chosen(fedavg, w, nothing, data, judge) == (1.0, 0.0)
    assert chosen(fedavg, nothing, nothing, data, judge) == (0.0, 1.0)


@pytest.mark.rotating
def test_resumed_and_in_processes_it_is_the_same(tmp_path: Path, three: dict[str, Opened]) -> None:
    processes = spec("fedavg", safe=True).model_copy(deep=True)
    content = processes.model_dump(exclude_unset=True)
    content["engine"] = {"name": "processes", "workers": 2, "compile": "trace"}
    other = summary(run(parse(content)[0], out=tmp_path / "p"))
    assert other["fingerprint"] == summary(three["safe"].folder)["fingerprint"]


def test_what_cannot_be_safe_is_refused() -> None:
    for name in ("local", "centralized"):
        with pytest.raises(FedkinError, match=r"no federated model: leave method\.safe out"):
            run(spec(name, safe=True))
    without = spec("fedavg", safe=True).model_dump(exclude_unset=True)
    without["split"] = {"name": "iid", "val": 0.0, "train": 0.8, "test": 0.2}
    with pytest.raises(FedkinError, match=r"set split\.val above 0"):
        run(parse(without)[0])
