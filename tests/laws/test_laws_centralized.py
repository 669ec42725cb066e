"""What training on pooled data must be: SGD on the union of all training rows, whatever their
owners.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fedkin.core.errors import FedkinError
from fedkin.experiment.run import run
from fedkin.runs.database import read_only
from fedkin.setup.loaded_run import load
from tests.engine.small import small
from tests.laws.small import SIZES, close, federated, people
from tests.methods.federation import CLASSES, agree, arrays

pytestmark = pytest.mark.certifies("centralized", "law")
TOTAL = sum(SIZES)
SHARE = float(np.float32(1 / TOTAL))  # the plan's weights are float32


def by_hand(group, start, lr: float, rounds: int):
    """Gradient descent on the mean loss over all clients' training rows: linear softmax, by hand in
    NumPy.
    """
    rows = np.sort(np.concatenate(group.train))
    x, y = group.x.numpy()[rows], group.y.numpy()[rows]
    weight, bias = start["weight"].copy(), start["bias"].copy()
    for _ in range(rounds):
        logits = x @ weight.T + bias
        p = np.exp(logits - logits.max(1, keepdims=True))
        p = p / p.sum(1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        weight, bias = weight - lr * SHARE * p.T @ x, bias - lr * SHARE * p.sum(0)
    return {"weight": weight, "bias": bias}


@pytest.mark.certifies("centralized", "reference")
def test_whole_batches_are_gradient_descent_on_the_union():
    federation = federated("centralized", batch_size=TOTAL, epochs=1).setup()
    start = arrays(federation.coordinator.state)["parameters"]
    federation.run(5)
    agree(
        "centralized",
        arrays(federation.coordinator.state)["parameters"],
        by_hand(people(), start, 0.2, 5),
        1e-12,
    )
    assert all(len(moment.record.participants) == 1 for moment in federation.moments)


@pytest.mark.certifies("centralized", "closed form")
def test_a_step_from_zero():
    """One full step from w = 0, where every class has probability 1/C: w = lr · Xᵀ(onehot − 1/C) /
    n.
    """
    federation = federated("centralized", batch_size=TOTAL, epochs=1).setup()
    state = federation.coordinator.state
    federation.coordinator.state = {
        "parameters": {n: torch.zeros_like(v) for n, v in state["parameters"].items()}
    }
    federation.run(1)
    group = people()
    rows = np.concatenate(group.train)
    x, y = group.x.numpy()[rows], np.eye(CLASSES)[group.y.numpy()[rows]]
    expected = 0.2 * SHARE * (y - 1 / CLASSES).T @ x
    np.testing.assert_allclose(
        federation.coordinator.state["parameters"]["weight"], expected, rtol=1e-12
    )


def test_owners_do_not_matter():
    """Rows dealt to other clients, their union the same: the same model (an average of one reply
    rounds).
    """
    plain = people()
    union = np.sort(np.concatenate(plain.train))
    dealt = replace(
        plain, train=tuple(np.sort(part) for part in np.array_split(union[::-1], len(SIZES)))
    )
    runs = [
        federated("centralized", group=group, epochs=2).run(3, evaluate=False)
        for group in (plain, dealt)
    ]
    close(*(arrays(run.coordinator.state) for run in runs), 1e-12)


def test_every_sample_is_seen_once_an_epoch():
    federation = federated("centralized", epochs=1)
    data = federation.host.training(1, 2)
    assert data.info.samples == TOTAL
    assert data.info.histogram.tolist() == federation.people.histogram("train").sum(0).tolist()
    batches = data.batches()
    batch = batches.gather(0, batches.steps)
    seen = {
        tuple(row)
        for row, weight in zip(batch.x.flatten(0, 1).tolist(), batch.weight.flatten())
        if weight > 0
    }
    assert seen == {
        tuple(row) for rows in federation.people.train for row in federation.people.x[rows].tolist()
    }
    assert data.population.train[0] is data.population.train[-1]  # one array for all


def test_scores_are_the_clients_own():
    """The last evaluation has train scores, too: of the client's own rows, like every other
    method's.
    """
    federation = federated("centralized").run(1)
    moment = federation.finish()
    for k, own in federation.data.items():
        w = moment.state["parameters"]
        for split, x, y in (("train", own["x"], own["y"]), ("test", own["x_test"], own["y_test"])):
            right = float(np.mean(np.argmax(x @ w["weight"].T + w["bias"], 1) == y))
            assert moment.record.scores[k]["personal"][split][1] == pytest.approx(right)


def test_a_run_has_one_participant_and_keeps_the_clients_sizes(tmp_path):
    """[run] participation has no say; the record tells each client's own number of samples."""
    folder = run(small("centralized", run__participation=1.0), tmp_path / "run")
    fed = run(small("fedavg", run__participation=1.0), tmp_path / "fed")
    with read_only(folder) as one, read_only(fed) as other:
        participants = [
            row[0] for row in one.rows("SELECT participants FROM rounds WHERE phase = 'round'")
        ]
        assert {str(p).count(",") for p in participants} == {0}
        assert one.rows("SELECT * FROM clients") == other.rows("SELECT * FROM clients")
        assert one.facts()["data_digest"] == other.facts()["data_digest"]
    assert load(folder)[1].federation.participation == pytest.approx(1 / 6)


def test_two_architectures_are_refused(tmp_path):
    with pytest.raises(FedkinError, match="centralized needs one architecture"):
        run(small("centralized", model__map={"a": "mlr", "b": "dnn"}), tmp_path / "run")
