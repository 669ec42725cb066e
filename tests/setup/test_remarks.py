"""What is no error and yet seldom meant."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fedkin import Experiment
from fedkin.setup import remarks
from fedkin.setup.build import assemble

KEYS = ("sigma", "alpha")  # of fedamp


def bright(share: float) -> torch.Tensor:
    """30 pictures 4 × 4: every fifth pixel is black, the others are ``share`` white."""
    pixels = torch.full((30 * 16,), round(255 * share), dtype=torch.uint8)
    pixels[::5] = 0
    return pixels.reshape(30, 1, 4, 4)


@pytest.mark.parametrize(("share", "told"), [(1.0, True), (0.5, True), (0.0, False)])
def test_pixels_far_from_zero_are_said_with_both_numbers(share: float, told: bool) -> None:
    # of 1 in four fifths: mean 0.8, deviation 0.4; of 0.5: 0.4 and 0.2
    parts = assemble(Experiment("local", clients=3).spec)
    rows = tuple(torch.arange(k, 30, 3).numpy() for k in range(3))
    seen = replace(parts.population, x=bright(share), train=rows)
    said = remarks._off_centre(seen)
    assert bool(said) is told
    if told:
        assert f"data.mean=[{0.8 * share:.2f}]" in said[0]
        assert f"data.std=[{0.4 * share:.2f}]" in said[0]


@pytest.mark.parametrize(
    ("unit", "told"),
    [
        (1e-11, "data.mean=[2e-11] and data.std=[1e-11]"),
        (1.0, ""),
        (1e7, "data.mean=[2e+07] and data.std=[1e+07]"),
    ],
)
def test_numbers_of_another_size_than_models_begin_with_are_said(unit: float, told: str) -> None:
    parts = assemble(Experiment("local", clients=3).spec)
    rows = tuple(torch.arange(k, 300, 3).numpy() for k in range(3))
    x = unit * torch.tensor([[1.0], [3.0]]).repeat(150, 1)
    said = remarks._off_centre(replace(parts.population, x=x, train=rows))
    assert [told in one for one in said] == ([True] if told else [])
    assert remarks._off_centre(replace(parts.population, x=0 * x, train=rows)) == []


def test_what_was_centred_is_not_remarked_on() -> None:
    parts = assemble(Experiment("local", clients=3).spec)
    population = replace(parts.population, x=bright(1.0).repeat(60, 1, 2, 2))
    parts = parts._replace(population=population)
    assert any("far from zero" in said for said in remarks.remarks(parts))
    centred = parts.spec.data.model_copy(update={"mean": (0.8,)})
    parts = parts._replace(spec=parts.spec.model_copy(update={"data": centred}))
    assert not any("far from zero" in said for said in remarks.remarks(parts))


def test_a_server_without_data_has_nothing_to_say() -> None:
    parts = assemble(Experiment("local", clients=3).spec)
    none = replace(parts.population, x=bright(1.0)[1:2])
    assert remarks._off_centre(none) == []
    assert remarks._off_centre(replace(none, train=(none.train[0][:0],) * 3)) == []


@pytest.mark.parametrize(
    ("rounds", "changes", "told"), [(4, {}, True), (5, {}, False), (4, {"method.starts": 1}, False)]
)
def test_a_trial_that_outlasts_the_run_is_said(
    rounds: int, changes: dict[str, int], told: bool
) -> None:
    parts = assemble(Experiment("hypcluster", clients=3, rounds=rounds, **changes).spec)
    said = [one for one in remarks.remarks(parts) if "trial" in one]
    sentence = (
        "hypcluster: its trial of 3 starts takes 5 rounds and the run 4 rounds, so none is chosen "
        "and each round costs 3 times as much; lower method.trial or raise run.rounds"
    )
    assert said == [sentence] * told


@pytest.mark.parametrize(
    ("epochs", "tune", "told"),
    [(2, "full", True), (2, "head", True), (2, "body", False), (4, "full", False)],
)
def test_a_head_that_nobody_trained_and_few_steps_at_the_end_are_said(
    epochs: int, tune: str, told: bool
) -> None:
    changes = {"method.epochs": epochs, "method.tune": tune, "train.batch_size": 10}
    parts = assemble(Experiment("fedbabu", clients=3, split="iid", **changes).spec)
    assert {len(rows) for rows in parts.population.train} <= {358, 359, 360}  # 36 mini-batches
    said = [one for one in remarks.remarks(parts) if "no round trains the head" in one]
    sentence = (
        "fedbabu: no round trains the head, and at the end a client of median size trains it for "
        "72 steps; fewer than 100 may leave it far below what it could reach: try method.epochs=3"
    )
    assert said == [sentence] * told
    if told:
        advised = Experiment("fedbabu", clients=3, split="iid", **{**changes, "method.epochs": 3})
        assert not any("trains the head" in one for one in remarks.remarks(assemble(advised.spec)))


def test_other_methods_and_clients_without_rows_have_no_head_to_say_it_of() -> None:
    parts = assemble(Experiment("finetune", clients=3, **{"method.epochs": 1}).spec)
    assert remarks._hardly_tuned(parts) == []
    parts = assemble(Experiment("fedbabu", clients=3).spec)
    none = {name: one._replace(samples=0) for name, one in parts.infos.items()}
    assert remarks._hardly_tuned(parts._replace(infos=none)) == []


@pytest.mark.parametrize(("warmup", "told"), [(0, False), (3, False), (4, True), (9, True)])
def test_a_warm_up_that_outlasts_the_run_is_said(warmup: int, told: bool) -> None:
    asked = Experiment("local", clients=3, rounds=4, **{"train.warmup": warmup})
    parts = assemble(asked.spec)
    said = [one for one in remarks.remarks(parts) if "warmup" in one]
    assert bool(said) is told
    if told:
        highest = max(parts.federation.tools.schedule.factor(at) for at in range(1, 5))
        assert f"never reaches train.lr, and {highest:.3g} of it at most" in said[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"train.lr": 1000.0}, []),
        ({"train.lr": 1e30}, ["train.lr = 1e+30 is far too large", "try train.lr=0.1"]),
        ({"train.lr": 1e30, "train.clip": 1e-3}, []),  # a step has at most 1e-3 of it
        ({"method.personal_lr": 2e3}, ["method.personal_lr = 2000 is far", "method.personal_lr=0"]),
        ({"server.lr": 1e4}, ["server.lr = 10000 is far too large", "try server.lr=1"]),
    ],
)
def test_a_learning_rate_far_too_large_is_said(changes: dict[str, float], said: list[str]) -> None:
    parts = assemble(Experiment("ditto", clients=3, **changes).spec)
    found = [one for one in remarks.remarks(parts) if "too large" in one]
    assert len(found) == bool(said)
    assert all(one in found[0] for one in said)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, True),
        ({"method.weights": "uniform"}, False),
        ({"run.sampling": "uniform"}, False),
        ({"run.participation": 1.0}, False),
    ],
)
def test_a_size_that_counts_twice_is_said(changes: dict[str, object], told: bool) -> None:
    by_size = {"run.sampling": "size", "run.participation": 0.5}
    parts = assemble(Experiment("fedavg", clients=4, **{**by_size, **changes}).spec)
    said = [one for one in remarks.remarks(parts) if "run.sampling" in one]
    assert len(said) == told
    assert all("set method.weights to 'uniform'" in one for one in said)


def test_a_method_that_draws_by_size_itself_is_not_told_so() -> None:
    parts = assemble(Experiment("comet", clients=8, **{"run.participation": 0.5}).spec)
    assert parts.method.needs.sampling == "size"
    assert not any("run.sampling" in one for one in remarks.remarks(parts))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, False),
        ({"method.lam": 1.0, "method.alpha": 1e4, "method.sigma": 1e6}, True),
        ({"method.lam": 0.0}, False),
    ],
)
def test_a_pull_that_comes_to_nothing_is_said(changes: dict[str, float], told: bool) -> None:
    parts = assemble(Experiment("fedamp", clients=5, rounds=4, **changes).spec)
    said = [one for one in remarks.remarks(parts) if "local training" in one]
    assert bool(said) is told
    if told:
        sigma, alpha = (float(said[0].split(f"method.{key}=")[1].split()[0]) for key in KEYS)
        tried = Experiment(
            "fedamp",
            clients=5,
            rounds=4,
            **{**changes, "method.sigma": sigma, "method.alpha": alpha},
        )
        assert not [one for one in remarks.remarks(assemble(tried.spec)) if "local training" in one]


@pytest.mark.parametrize(
    ("method", "lr", "told"),
    [
        ("pfedme", 0.1, ["personal_lr times lam is 1.5", "lr times lam is 1.5"]),
        ("pfedme", 0.05, ["personal_lr times lam is 1.5"]),
        ("cgpfl", 0.1, ["lr times lam is 1.2"]),
        ("cgpfl", 0.05, []),
        ("ditto", 9.0, []),  # its λ draws the personal model alone
    ],
)
def test_a_step_that_overshoots_is_said_of_both_models(
    method: str, lr: float, told: list[str]
) -> None:
    own = {"ditto": {"method.personal_lr": 0.1}, "pfedme": {"method.lam": 15.0}}
    changes = {"train.lr": lr, **own.get(method, {})}
    parts = assemble(Experiment(method, clients=5, rounds=4, **changes).spec)
    said = [one for one in remarks.remarks(parts) if "times lam" in one]
    assert [one.split(": ")[1] for one in said] == told


def told(folder: Path, word: str, y: np.ndarray, **changes: str) -> list[str]:
    """The remarks with a word in them, on arrays of 60 samples with these labels."""
    x = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    np.savez(folder / "a.npz", x=x, y=y, client=np.arange(60) % 3)
    options = {"data": str(folder / "a.npz"), "split": "natural", "model": "glm", **changes}
    said = remarks.remarks(assemble(Experiment("local", **options).spec))
    return [one for one in said if word in one]


def test_labels_far_from_1_are_said_where_they_are_learned_as_they_are(tmp_path: Path) -> None:
    y = np.random.default_rng(1).normal(size=60)
    (said,) = told(tmp_path, "model.target=standard", 1e6 + y)
    assert "labels lie around 1e+06 with a deviation of" in said
    others = np.where(np.arange(60) % 3 == 0, 0.0, 1e6) + y  # client 0's are as they should be
    assert "labels lie around 6.67e+05" in told(tmp_path, "model.target=standard", others)[0]
    assert not told(tmp_path, "model.target", y)
    assert not told(tmp_path, "model.target", 1e6 + y, **{"model.target": "standard"})


def test_classes_that_are_numbered_from_1_are_said(tmp_path: Path) -> None:
    for first in (0, 1):
        assert len(told(tmp_path, "of class 0", np.arange(60) % 4 + first, model="mlr")) == first


@pytest.mark.parametrize(
    ("noise", "where", "told"),
    # of 650 values the norm is 25.5 σ: a mean of 5 has a fifth of it; of 5 noises, 1 / √5
    [(1.0, "server", ""), (2.0, "server", "10 times"), (1.0, "client", "11 times")],
)
def test_noise_that_drowns_updates_is_said(noise: float, where: str, told: str) -> None:
    privacy = {"noise": noise, "clip": 0.5, "delta": 1e-5, "where": where}
    experiment = Experiment("fedavg", data="digits", model="mlr", clients=5, privacy=privacy)
    parts = assemble(experiment.spec)
    said = [one for one in remarks.remarks(parts) if "[privacy]" in one]
    assert bool(said) == bool(told)
    assert all(f"mean is {told} as long" in one and "650 values, 5 clients" in one for one in said)


def test_noise_on_predictions_or_on_samples_is_not_judged_by_its_length() -> None:
    privacy = {"noise": 90.0, "clip": 0.5, "delta": 1e-5}
    for method, more in (("ds_fl", {"where": "client"}), ("fedavg", {"unit": "sample"})):
        parts = assemble(Experiment(method, clients=5, privacy={**privacy, **more}).spec)
        assert not any("[privacy]: the noise" in one for one in remarks.remarks(parts))
