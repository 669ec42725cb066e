"""A clip along a quantile: its noise against the accountant's, its course against NumPy."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fedkin.core.aggregation import Reply
from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo, FederationInit, updated
from fedkin.core.rng import Key, Secret
from fedkin.experiment.run import run
from fedkin.methods import make
from fedkin.report.summary import summary
from fedkin.runs.database import read_only
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.transforms.private import Guarantee, clipped, keep_private
from fedkin.transforms.protected.adaptive_clip import (
    NOISE,
    ClipQuantile,
    count_noise,
    is_short,
    next_clip,
    split_noise,
)
from fedkin.transforms.server_optimizer import ServerOptimizer, optimize_at_server
from fedkin.transforms.setting import Setting
from tests.engine.small import content

SECRET = Secret(bytes(range(32)))
HALF = ClipQuantile(quantile=0.5, start=0.1, lr=0.2)


@pytest.mark.certifies("client_noise", "closed form")
@pytest.mark.parametrize(("noise", "expected"), [(1.0, 100.0), (0.7, 1000.0), (2.0, 4.0)])
def test_updates_and_count_together_cost_what_the_noise_costs(noise, expected):
    """Two Gaussian mechanisms on one sample are one, of the sum of inverse squares."""
    update, counted = split_noise(noise, expected)
    assert update**-2 + (2 * counted) ** -2 == pytest.approx(noise**-2)
    assert counted == max(expected / 20, noise)
    assert noise < update <= noise * 2 / math.sqrt(3) + 1e-12
    accounting = pytest.importorskip("dp_accounting")
    pld = accounting.pld.PLDAccountant()
    pld.compose(accounting.GaussianDpEvent(update))
    pld.compose(accounting.GaussianDpEvent(2 * counted))  # a count in halves: a clip is twice it
    one = accounting.pld.PLDAccountant().compose(accounting.GaussianDpEvent(noise))
    assert pld.get_epsilon(1e-5) == pytest.approx(one.get_epsilon(1e-5), rel=1e-3)


@pytest.mark.certifies("client_noise", "law")
def test_one_client_more_moves_the_sum_by_a_clip_and_the_count_by_a_half():
    drawn = torch.Generator().manual_seed(0)
    updates = [10 ** (k % 5 - 2) * torch.randn(3, generator=drawn).double() for k in range(50)]
    for update in (*updates, torch.tensor([math.inf, 0.0, 0.0]), torch.full((3,), math.nan)):
        assert float(clipped(update, 0.7).norm()) <= 0.7 * (1 + 1e-12)
        assert abs(is_short(update, 0.7) - 0.5) == 0.5
    assert not is_short(torch.tensor([math.inf, 0.0]), 1e300)
    assert not is_short(torch.tensor([math.nan, 0.0]), 1e300)


@pytest.mark.certifies("client_noise", "law")
@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
def test_without_noise_the_clip_settles_at_the_quantile(quantile):
    norms = np.exp(np.random.default_rng(3).normal(size=401))
    clip = 0.1
    for _ in range(600):
        short = int((norms <= clip).sum())
        clip = next_clip(clip, short, 401, 401.0, 0.0, HALF._replace(quantile=quantile))
    assert clip == pytest.approx(float(np.quantile(norms, quantile)), rel=0.05)


def test_a_clip_stays_a_number_however_long_it_falls_or_rises():
    for short, far in ((9, 1e-300), (0, 1e300)):
        clip = far
        for _ in range(200):
            clip = next_clip(clip, short, 9, 9.0, 0.0, HALF._replace(lr=1.0))
        assert 0 < clip < math.inf


def federation(quantile, optimizer=None, clients=3, share=1.0):
    """FedAvg on one weight tensor of two numbers, protected."""
    infos = {k: ClientInfo(k, "w", 9, torch.ones(3), 0, 3) for k in range(clients)}
    setting = Setting(clients, clients, share, 5, infos=infos)
    plain = make("fedavg", {}, {"lr": 0.1})
    if optimizer is not None:
        plain = optimize_at_server(plain, optimizer)
    first = {"w": torch.tensor([1.0, -2.0], dtype=torch.float64)}
    start = FederationInit({"w": first}, tuple(infos), 0, 2, lambda one: first)
    method = keep_private(plain, setting, Guarantee(quantile.start, 0.8, quantile=quantile))
    return method, method.server(start)


ROUNDS = [
    {0: [0.3, 0.4], 1: [0.03, 0.04], 2: [-0.06, 0.0]},
    {1: [5.0, 12.0]},
    {},
    {0: [0.06, 0.0], 2: [math.nan, 0.0]},
]


@pytest.mark.certifies("client_noise", "reference")
def test_rounds_are_those_of_the_paper_in_numpy():
    """Algorithm 1 with m = 3, fixed denominators, and bits of ±1/2."""
    method, state = federation(HALF)
    w, clip = np.array([1.0, -2.0]), 0.1
    counted = max(3 / 20, 0.8)
    z = 1 / math.sqrt(1 / 0.8**2 - 1 / (2 * counted) ** 2)
    for number, updates in enumerate(ROUNDS, start=1):
        model = method.broadcast(state, 0)["parameters"]["w"]
        assert model.tolist() == pytest.approx(w.tolist(), abs=1e-12)
        replies = {
            k: Reply({"parameters": {"w": model + torch.tensor(update, dtype=model.dtype)}}, 9.0)
            for k, update in updates.items()
        }
        tools = SimpleNamespace(key=Key(5, number), secret=SECRET)
        state = updated(method, state, replies, tools)
        total, bits = np.zeros(2), 0.0
        for update in map(np.array, updates.values()):
            norm = np.linalg.norm(update)
            if np.isfinite(norm):
                total += update * min(1.0, clip / norm)
            bits += 0.5 if norm <= clip else -0.5
        total += z * clip * SECRET.normal("noise", number, 2).numpy()
        share = 0.5 + (bits + counted * float(SECRET.normal(NOISE, number, 1))) / 3
        w = w + total / 3
        assert method.server_metrics(state)["clip"] == {-1: pytest.approx(clip)}
        clip = clip * math.exp(-0.2 * (share - 0.5))
        assert float(state["next_clip"]) == pytest.approx(clip)
    assert count_noise(SECRET, 3, 2.0) == 2 * float(SECRET.normal(NOISE, 3, 1))


def test_an_optimizer_at_the_server_has_the_clipped_sum_too():
    method, state = federation(HALF, ServerOptimizer("momentum", 0.5))
    model = method.broadcast(state, 0)["parameters"]["w"]
    replies = {0: Reply({"parameters": {"w": model + 100}}, 9.0)}
    tools = SimpleNamespace(key=Key(5, 1), secret=Secret(bytes(32)))
    after = updated(method, state, replies, tools)
    assert method.broadcast(after, 0)["parameters"]["w"].tolist() != model.tolist()
    assert float(after["method"]["optimizer"]["mean"]["w"].norm()) < 1
    assert float(after["next_clip"]) > float(after["clip"])  # the update was too long


PRIVACY = {"noise": 1.0, "delta": 1e-5, "clip": {"quantile": 0.5, "start": 0.25}}


def spec(method="fedavg", **privacy):
    given = content(method, run__participation=1.0, run__rounds=3)
    return parse({**given, "privacy": {**PRIVACY, **privacy}})[0]


def test_a_run_records_the_clip_of_each_round(tmp_path):
    folder = run(spec(seeded=True), tmp_path / "run")
    with read_only(folder) as database:
        rows = database.rows("SELECT round, value FROM notes WHERE name = 'clip' AND client = -1")
    clips = [float(value) for _, value in sorted(rows)]
    assert clips[:2] == [0.25, 0.25]  # before the first round, and in it
    assert len(set(clips[1:4])) == 3
    facts = summary(folder)["privacy"]
    assert (facts["clip"], facts["clip_quantile"]) == (0.25, 0.5)
    plain = summary(run(spec(seeded=True, clip=0.25), tmp_path / "plain"))["privacy"]
    assert plain["epsilon"] == facts["epsilon"]


BAD = {
    "no quantile": ({"clip": {"start": 1.0}}, r"write a norm, or \{quantile = 0.5, start"),
    "key": ({"clip": {"quantile": 0.5, "rate": 0.2}}, r"write a norm, or \{quantile = 0.5, start"),
    "all": ({"clip": {"quantile": 1.0}}, "quantile must be above 0 and below 1, not 1.0"),
    "text": ({"clip": {"quantile": "x"}}, "quantile must be a number above 0, not 'x'"),
    "fast": ({"clip": {"quantile": 0.5, "lr": 2}}, "lr must be at most 1, .*, not 2"),
    "client": ({"where": "client"}, "set where = 'server' .* the norm of an update"),
    "sample": ({"unit": "sample"}, "set where = 'server' .* the norm of a gradient"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_gets_one_sentence_before_training(case):
    changed, sentence = BAD[case]
    with pytest.raises(FedkinError, match=sentence):
        assemble(spec(**changed))


def test_predictions_have_no_norm_to_follow():
    with pytest.raises(FedkinError, match=r"ds_fl send predictions: give privacy.clip a number"):
        assemble(spec("ds_fl"))
    with pytest.raises(FedkinError, match="fedfomo needs every message by itself"):
        assemble(spec("fedfomo"))
