"""Clients whose model is no torch module, among torch clients: the scikit-learn model of
examples/other_models.
"""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.core.model import LearnerBatch
from fedkin.experiment.resume import resume
from fedkin.experiment.run import experiment, run
from fedkin.methods import METHODS, make
from fedkin.models.build import build
from fedkin.models.user_models import allow
from fedkin.newcomers.local import Learned, joined
from fedkin.report.summary import summary
from fedkin.setup.loaded_run import load
from tests.engine.small import content, outcome

FOLDER = Path(__file__).parents[2] / "examples" / "other_models"
MODEL = "sk_linear:Linear"
ABLE = sorted(
    name for name in METHODS if make(name, {}, {"lr": 0.1}).distillation_target is not None
)


@pytest.fixture(autouse=True)
def found(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


def mixed(method: str, **settings):
    sections = content(
        method, train__steps=8, run__clients=4, run__participation=1.0, run__rounds=3, **settings
    )
    sections["model"] = {"map": {"net": "mlr", "other": MODEL}, "rule": "turn"}
    return experiment(sections)


def learner():
    from sk_linear import Linear

    return Linear((4,), 3)


@pytest.mark.rotating
@pytest.mark.parametrize("method", ABLE)
def test_both_kinds_learn_in_one_federation(method, tmp_path):
    folder = run(mixed(method), tmp_path / "run")
    coordinator, parts, _ = load(folder)
    assert [info.architecture for info in parts.infos.values()] == ["mlr", MODEL] * 2
    own = coordinator.transport.host.personal_state(1)["parameters"]
    assert set(own) == {"coef", "intercept", "seen"}
    assert own["seen"] > 0
    final = summary(folder)["accuracy"]["personal"]["final"]
    assert (final["mean"] > 0.5, final["worst_decile"] > 0.3) == (True, True), final
    sent = summary(folder)["communication"]["unicast"]["by_kind"]
    assert sent["predictions"]["up"] > 0
    assert sent["parameters"]["up"] == 0


def test_the_same_bits_again_in_workers_and_after_a_resume(tmp_path):
    once = outcome(run(mixed("comet"), tmp_path / "once"))
    assert outcome(run(mixed("comet"), tmp_path / "again")) == once
    assert outcome(resume(tmp_path / "once")) == once


def test_a_target_teaches_and_none_is_private_training_alone():
    model, rng = learner(), np.random.default_rng(0)
    x, public = rng.normal(size=(8, 4)), rng.normal(size=(60, 4))
    target = np.eye(3)[np.abs(public[:, :3]).argmax(1)]

    def after(pull, use=True):
        batch = LearnerBatch(
            x, np.zeros(8, dtype=np.int64), public if use else None, target if use else None, pull
        )
        return model.fit(model.start(), iter([batch] * 40))

    alone, taught = after(0.0, use=False), after(20.0)
    near = [
        np.square(model.predict(state, public) - target).sum(1).mean() for state in (alone, taught)
    ]
    assert near[1] < 0.8 * near[0]
    np.testing.assert_array_equal(after(0.0)["coef"].shape, alone["coef"].shape)
    np.testing.assert_allclose(model.predict(model.start(), x), 1 / 3)


def test_a_state_is_all_that_it_remembers():
    model, rng = learner(), np.random.default_rng(1)
    batches = [
        LearnerBatch(rng.normal(size=(6, 4)), rng.integers(3, size=6), None, None, 0.0)
        for _ in range(10)
    ]
    whole = model.fit(model.start(), iter(batches))
    half = model.fit(model.start(), islice(batches, 5))
    other = learner().fit(half, islice(batches, 5, None))  # another object, as in another process
    np.testing.assert_allclose(other["coef"], whole["coef"], rtol=1e-6)


@pytest.mark.parametrize("method", ["fedavg", "feddf", "fedmd", "local"])
def test_methods_that_need_parameters_refuse(method, tmp_path):
    with pytest.raises(
        FedkinError, match=r"no torch module: try comet, ds_fl, kt_pfl|needs one architecture"
    ):
        run(mixed(method), tmp_path / "run")


def test_a_newcomer_may_hold_one(tmp_path):
    folder = run(mixed("comet", run__holdout_clients=0.3, run__holdout_labels=[]), tmp_path / "run")
    coordinator, parts, _ = load(folder)
    found, guest = joined(
        Learned(parts, coordinator.state, 3, coordinator.transport.host.runtime),
        parts.held_out,
        3,
        MODEL,
    )
    assert set(guest.views(found.last)["personal"]) == {"coef", "intercept", "seen"}
    assert found.scores["personal"]["test"][1] > 0.4


def test_what_is_no_model_says_so(monkeypatch):
    from fedkin.core.rng import Key

    allow(["pathlib:Path", MODEL])
    with pytest.raises(
        FedkinError,
        match=r"not a class of a torch.nn.Module or a learner, which has start, fit, predict",
    ):
        build("pathlib:Path", (4,), 3, Key(0))
    with pytest.raises(FedkinError, match="class probabilities, not family gaussian"):
        build(MODEL, (4,), 3, Key(0), family="gaussian")
