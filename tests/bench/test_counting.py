"""What a run multiplies is counted over its own rounds, as torch counts it by autograd."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from fedkin.bench import trial
from fedkin.bench.budgets import Used
from fedkin.bench.counting import STEPS, CountedScans, Counter, Multiplied, counted
from fedkin.bench.trial import KEPT, run_trial, spec_of
from fedkin.core.model import Batch, Model
from fedkin.core.ops import Batches, scan
from fedkin.experiment.run import run
from fedkin.experiment.training import Interrupted
from fedkin.methods import make
from fedkin.report.summary import summary
from fedkin.runtime.replay import Runtime
from fedkin.setup.build import base_method
from tests.bench.tiny import SPEC
from tests.runtime.test_replay import linear

ROUNDS = 6
ODD: dict[str, dict[str, Any]] = {
    "fedala": {},  # its weights are learned for long in the second round alone
    "hypcluster": {"starts": 3, "trial": 3},
    "l2sgd": {"lam": 0.1},  # as many steps as are drawn
    "ditto": {},
    "fedrep": {},
}


def content(method: str, seed: int = 3, **options: Any) -> dict[str, Any]:
    return {
        **SPEC,
        "model": {"name": "dnn", "hidden": 8},
        "method": {"name": method, **ODD.get(method, {}), **options},
        "train": {**SPEC["train"], "lr": 0.1},
        "run": {"clients": 3, "rounds": ROUNDS, "seed": seed, "evaluate_every": ROUNDS},
    }


def by_autograd(given: dict[str, Any], folder: Path) -> list[int]:
    """Counted until the setup, each round and the finish were over, without recorded graphs."""
    spec = spec_of(given)
    spec = spec.model_copy(update={"engine": spec.engine.model_copy(update={"compile": "never"})})
    counts: list[int] = []

    def watched(step: Callable[..., Any]) -> Callable[..., Any]:
        def made(*values: Any) -> Any:
            with FlopCounterMode(display=False) as counter:
                found = step(*values)
            counts.append(counter.get_total_flops())
            return found

        return made

    method = base_method(spec)
    steps = {name: getattr(method, name) for name in STEPS}
    plain: dict[str, Any] = {name: watched(step) for name, step in steps.items() if step}
    marks: list[int] = []
    run(spec, folder, method=method._replace(**plain), progress=lambda _: marks.append(sum(counts)))
    return marks


def until(used: Used) -> list[float]:
    marks = [used.before]
    for each in (*used.rounds, used.after):
        marks.append(marks[-1] + each)
    return marks


@pytest.mark.rotating
@pytest.mark.parametrize("method", ODD)
def test_every_round_is_counted_as_it_was(method: str, tmp_path: Path) -> None:
    given = content(method)
    done = run_trial(given, tmp_path / "run", None)
    assert len(done.flops.rounds) == ROUNDS
    assert until(done.flops) == by_autograd(given, tmp_path / "plain")
    run(spec_of(given), tmp_path / "alone")
    assert done.found["fingerprint"] == summary(tmp_path / "alone")["fingerprint"]


def test_rounds_that_are_unlike_the_second_are_there() -> None:
    """The cases above are no easy ones."""
    assert make("hypcluster", ODD["hypcluster"], {"lr": 0.1}).hyper["trial"] < ROUNDS


def test_a_seed_has_its_own_work(tmp_path: Path) -> None:
    one, other = (
        run_trial(content("l2sgd", seed=seed), tmp_path / str(seed), None).flops for seed in (3, 4)
    )
    assert one.rounds != other.rounds


def test_steps_that_read_values_are_watched_one_by_one() -> None:
    """Of five steps, every other one multiplies."""

    def step(model: Model, carry: Tensor, batch: Batch) -> Tensor:
        return carry @ carry if batch.x.sum() > 0 else carry + 1

    x = torch.tensor([1.0, 0.0, 1.0, 0.0, 1.0]).reshape(5, 1)
    whole = Batch(x, x, x)
    counter = Counter()
    scans = CountedScans(Runtime("trace"), counter)
    batches = Batches(scans, linear(), 5, lambda a, b: Batch(*(leaf[a:b] for leaf in whole)))
    with counter.watching():
        scan(step, torch.eye(4), batches)
    assert counter.total == 3 * 2 * 4**3


@pytest.mark.rotating
def test_what_a_killed_session_counted_is_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = content("hypcluster")
    whole = run_trial(given, tmp_path / "whole", None).flops
    folder, clocked = tmp_path / "run", trial.clocked

    def stopping(path: Path, work: Any) -> None:
        def third(record: Any) -> None:
            if record.round == 3:
                raise Interrupted("stopped")

        work(third)

    monkeypatch.setattr(trial, "clocked", stopping)
    with pytest.raises(Interrupted):
        run_trial(given, folder, None)
    monkeypatch.setattr(trial, "clocked", clocked)
    assert (folder / KEPT).exists()
    assert run_trial(given, folder, None).flops == whole
    (folder / KEPT).unlink()
    assert run_trial(given, folder, None).flops == whole
    assert [path.name for path in tmp_path.iterdir() if "counted" in path.name] == []


def test_multiplications_of_every_step_are_counted() -> None:
    def client_update(received, own, data):
        return own, {"parameters": {"w": received["w"] @ received["w"].T}}

    plain = make("fedavg", {}, {"lr": 0.1})._replace(client_update=client_update)
    method, counter = counted(plain)
    received = {"w": torch.ones(3, 5)}
    own, sent = method.client_update(received, {"a": 1}, None)
    assert own == {"a": 1}
    assert sent["parameters"]["w"].tolist() == [[5.0] * 3] * 3
    assert counter.total == 2 * 3 * 5 * 3
    method.client_update(received, {}, None)
    assert counter.total == 180
    assert method.setup_message is None
    assert method.predict is plain.predict
    with pytest.raises(TypeError):
        method.client_update(received)


def layers_of_many_kinds() -> None:
    """Forward and, where autograd is there, backward."""
    x = torch.ones(2, 3, 8, 8)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(144, 6), torch.nn.ReLU()
    )
    rows = model(x)
    lstm, attention = torch.nn.LSTM(6, 5), torch.nn.MultiheadAttention(6, 2)
    seen, _ = attention(rows[None], rows[None], rows[None])
    out = lstm(rows[None])[0].sum() + torch.einsum("ij,ik->jk", rows, rows).sum() + seen.sum()
    apart = (rows[:, None] - rows).norm(dim=2).sum() + torch.bmm(rows[None], rows.T[None]).sum()
    if torch.is_grad_enabled():
        (out + apart).backward()


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("grad", [False, True])
def test_torch_counts_the_same(inference: bool, grad: bool) -> None:
    with torch.inference_mode(inference), torch.set_grad_enabled(grad and not inference):
        with FlopCounterMode(display=False) as by_torch:
            layers_of_many_kinds()
        with Multiplied() as counted_here:
            layers_of_many_kinds()
    assert counted_here.total == by_torch.get_total_flops() > 10_000


@pytest.mark.parametrize("kind", [torch.nn.GRU, torch.nn.LSTM, torch.nn.RNN])
def test_a_watched_layer_has_the_bits_that_it_has_alone(kind: type[torch.nn.Module]) -> None:
    torch.manual_seed(0)
    layer, x = kind(8, 16, num_layers=2, batch_first=True), torch.randn(5, 7, 8)
    with torch.inference_mode():
        alone = layer(x)[0]
        with Multiplied():
            watched = layer(x)[0]
    assert torch.equal(watched, alone)


@pytest.mark.rotating
def test_counting_does_not_load_the_compiler(tmp_path: Path) -> None:
    """FedPAC takes products in and out of scans: torch's compiler takes a second to load."""
    script = """
import sys
from pathlib import Path
import torch
from fedkin.bench.trial import run_trial
from tests.bench.test_counting import content
run_trial(content("fedpac"), Path(sys.argv[1]), None)
print([name for name in ("torch._dynamo", "torch._inductor", "sympy") if name in sys.modules])
"""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    called = [sys.executable, "-c", script, str(tmp_path / "run")]
    done = subprocess.run(called, env=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
