"""The clipped mean with noise, against closed forms."""

import math
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from fedkin.core.aggregation import Reply, RuleContext, WeightedSum, aggregated
from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo
from fedkin.core.rng import Key, Secret, seeded
from fedkin.experiment.run import experiment, run
from fedkin.methods import make
from fedkin.runs.spec import parse
from fedkin.setup.build import assemble
from fedkin.transforms.private import Guarantee, clipped, keep_private, noise_of, noised_mean
from fedkin.transforms.setting import Setting
from tests.engine.small import content

SECRET = Secret(bytes(range(32)))
RECEIVED = {"parameters": {"w": torch.tensor([10.0, -5.0, 2.0])}}


def message(*update):
    return {"parameters": {"w": RECEIVED["parameters"]["w"] + torch.tensor(update)}}


@pytest.mark.certifies("client_noise", "closed form")
def test_an_update_is_clipped_to_its_norm_and_one_that_is_not_finite_is_nothing():
    long = torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert clipped(long, 2.5).tolist() == pytest.approx([1.5, 2.0])
    assert clipped(long, 5.0).tolist() == [3.0, 4.0]
    assert clipped(torch.tensor([math.inf, 1.0], dtype=torch.float64), 1.0).tolist() == [0.0, 0.0]


@pytest.mark.certifies("client_noise", "closed form")
def test_the_sum_is_divided_by_the_expected_number_and_clients_count_alike():
    replies = {1: Reply(message(3.0, 4.0, 0.0), 100.0), 4: Reply(message(0.0, 0.25, 0.0), 1.0)}
    how = WeightedSum(rule=noised_mean(Guarantee(1.0, 0.5), 4.0, ("parameters",), 0))
    found = aggregated(how, replies, lambda: RuleContext(lambda client: RECEIVED, 7, SECRET))
    noise = noise_of(SECRET, 7, 3, Guarantee(1.0, 0.5))
    total = torch.tensor([0.6, 0.8 + 0.25, 0.0], dtype=torch.float64) + noise
    expected = RECEIVED["parameters"]["w"] + total / 4
    assert found.mean["parameters"]["w"].tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert found.reported == {}  # how much of whom was clipped is nobody's business


@pytest.mark.certifies("client_noise", "closed form")
def test_a_round_without_participants_is_noise_alone():
    how = WeightedSum(rule=noised_mean(Guarantee(2.0, 1.5), 3.0, ("parameters",), 0))
    found = aggregated(how, {}, lambda: RuleContext(lambda client: RECEIVED, 2, SECRET))
    update = found.mean["parameters"]["w"] - RECEIVED["parameters"]["w"]
    noise = 3.0 * SECRET.normal("noise", 2, 3) / 3.0
    assert update.tolist() == pytest.approx(noise.tolist(), abs=1e-6)


def update_that_leaves(asked, *update, round=1):
    """What a client with noise of its own sends, less what it was sent."""
    setting = Setting(1, 1, 1.0, 5, infos={0: ClientInfo(0, "w", 9, torch.ones(3), 0, 3)})
    plain = make("fedavg", {}, {"lr": 0.1})._replace(
        client_update=lambda received, own, data: (own, message(*update))
    )
    noised = keep_private(plain, setting, asked._replace(at_client=True))
    data = SimpleNamespace(secret=SECRET, key=Key(1, round, 0))
    _, sent = noised.client_update(RECEIVED, {}, data)
    return (sent["parameters"]["w"] - RECEIVED["parameters"]["w"]).tolist()


def test_an_update_is_clipped_before_it_gets_the_noise_of_its_client():
    found = update_that_leaves(Guarantee(5.0, 1e-12), 30.0, 40.0, 0.0)
    assert found == pytest.approx([3.0, 4.0, 0.0], abs=1e-5)


def test_a_client_adds_other_noise_in_every_round():
    """Noise that two rounds share goes out of the difference of two messages."""
    sent = [update_that_leaves(Guarantee(2.0, 0.75), 0.0, 0.0, 0.0, round=r) for r in (1, 2)]
    for round, update in enumerate(sent, start=1):
        noise = 1.5 * SECRET.normal("noise", round, 3)
        assert update == pytest.approx(noise.tolist(), abs=1e-5)
    assert not set(sent[0]) & set(sent[1])


def test_clients_who_were_sent_different_models_are_refused():
    sent = {0: RECEIVED, 1: RECEIVED, 2: {"parameters": {"w": torch.tensor([10.0, -5.0, 3.0])}}}
    how = WeightedSum(rule=noised_mean(Guarantee(1.0, 1.0), 2.0, ("parameters",), 0))
    replies = {k: Reply(message(0.0, 0.0, 0.0), 1.0) for k in (1, 2)}
    with pytest.raises(FedkinError, match="clients are sent different models"):
        aggregated(how, replies, lambda: RuleContext(sent.get, 1, SECRET))


@pytest.mark.certifies("client_noise", "closed form")
def test_noise_has_the_variance_that_was_asked_for_and_is_normal():
    n = 200_000
    drawn = noise_of(SECRET, 3, n, Guarantee(2.0, 0.75)) / 1.5
    assert float(drawn.mean()) == pytest.approx(0, abs=5 / math.sqrt(n))
    assert float(drawn.var()) == pytest.approx(1, abs=5 * math.sqrt(2 / n))
    assert float((drawn.abs() > 1.959964).double().mean()) == pytest.approx(0.05, abs=0.0025)
    assert float((drawn**4).mean()) == pytest.approx(3, abs=0.06)


@pytest.mark.certifies("client_noise", "law")
def test_noise_is_the_same_for_a_round_and_another_for_every_other():
    assert torch.equal(SECRET.normal("noise", 3, 9), SECRET.normal("noise", 3, 9))
    assert torch.equal(SECRET.normal("noise", 3, 9)[:4], SECRET.normal("noise", 3, 9)[:4])
    others = [
        SECRET.normal("noise", 4, 9),
        SECRET.normal("participants", 3, 9),
        SECRET.of("client 1").normal("noise", 3, 9),
        Secret(bytes(32)).normal("noise", 3, 9),
        seeded(3).normal("noise", 3, 9),
    ]
    for other in others:
        assert not bool((SECRET.normal("noise", 3, 9) == other).any())
    assert float(SECRET.uniform("participants", 1, 100_000).min()) > 0


PRIVACY = {"noise": 1.0, "clip": 0.5, "delta": 1e-5}
BAD = {
    "epsilon": ({"noise": {"epsilon": 0, "delta": 1e-5}}, "epsilon must be a number above 0"),
    "no delta": ({"noise": {"epsilon": 1}}, "write a number, or {epsilon = 8, delta = 1e-5}"),
    "negative": ({"noise": -1.0}, "noise must be a number above 0, not -1.0"),
    "clip": ({"clip": 0}, "privacy.clip: it must be a number above 0"),
    "no clip": ({"clip": None}, "noise needs privacy.clip"),
    "delta": ({"delta": 1.5}, "delta must be above 0 and below 1, not 1.5"),
    "none": ({"delta": None}, "needs privacy.delta"),
    "twice": ({"noise": {"epsilon": 1, "delta": 1e-6}}, "delta stands there twice"),
    "large delta": ({"delta": 0.2}, "privacy.delta is 0.2, and must be below 1 / 6 clients"),
    "no noise": ({"noise": None, "clip": 1.0}, "clip protects nobody without noise"),
    "key": ({"nois": 1.0}, "unknown key 'privacy.nois'.*: did you mean 'noise'"),
    "budget": ({"budget": 0.01}, "privacy.budget is 0.01, and one round costs"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_gets_one_sentence_before_training(case):
    changed, sentence = BAD[case]
    given = {key: v for key, v in {**PRIVACY, **changed}.items() if v is not None}
    with pytest.raises(FedkinError, match=sentence) as told:
        assemble(parse({**content("fedavg", run__participation=1.0), "privacy": given})[0])
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("method", "transforms", "sentence"),
    [
        (
            "cgpfl",
            [],
            r"\[privacy\] works on a declared sum .* cgpfl needs every message by itself",
        ),
        (
            "local",
            [],
            r"^\[privacy\] has nothing to protect: clients of local send nothing; leave ",
        ),
        (
            "ppfl",
            [],
            "introduce themselves before the first round, which no noise covers: try fedavg",
        ),
        (
            "feddbe",
            [],
            "introduce themselves before the first round, which no noise covers: try fed",
        ),
        ("fedavg", [{"name": "median"}], "another rule stands in its place"),
    ],
)
def test_what_noise_would_not_cover_is_refused(method, transforms, sentence):
    spec = {**content(method, run__participation=1.0), "privacy": PRIVACY, "transforms": transforms}
    with pytest.raises(FedkinError, match=sentence):
        assemble(parse(spec)[0])


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ("local", r"^\[privacy\] has nothing to protect: clients of local send nothing; leave "),
        ("cgpfl", "declared sum of updates, and cgpfl needs every message by itself: try "),
        ("ifca", "declared sum of updates, and ifca needs a sum for each group of clients: try "),
        ("ds_fl", r"ds_fl sends predictions, .* take where = 'client'$"),
        ("comet", r"comet sends predictions, .* take where = 'client' without masks$"),
    ],
)
def test_who_cannot_share_noise_is_told_what_it_sends(method, sentence):
    """Only a method that sends predictions is told that it does."""
    asked = {**PRIVACY, "where": "distributed", "secure_aggregation": True}
    with pytest.raises(FedkinError, match=sentence):
        assemble(parse({**content(method, run__participation=1.0), "privacy": asked})[0])


def test_participants_by_size_are_refused():
    given = content("fedavg", run__participation=1.0, run__sampling="size")
    with pytest.raises(FedkinError, match="participants are drawn by their number of samples"):
        assemble(parse({**given, "privacy": PRIVACY})[0])


@pytest.mark.parametrize(
    ("run", "where", "refused"),
    [
        ({"participation": 0.5, "min_replies": 2}, "server", True),
        ({"participation": 1.0, "min_replies": 2}, "server", False),
        ({"participation": 0.5, "min_replies": 2}, "client", False),  # they are known
        ({"participation": 0.5, "min_replies": 1}, "server", False),
    ],
)
def test_no_run_ends_by_how_many_were_drawn_in_secret(run, where, refused):
    """That it ended is known to all, and no noise covers it."""
    asked = {f"run__{name}": value for name, value in run.items()}
    given = {**content("fedavg", **asked), "privacy": {**PRIVACY, "where": where}}
    told = pytest.raises(FedkinError, match=r"run\.min_replies is 2: .* draws in secret")
    with told if refused else nullcontext():
        assemble(parse(given)[0])


def test_without_the_extra_the_message_names_it(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting", None)
    given = {**PRIVACY, "noise": 1.234567}
    with pytest.raises(FedkinError, match=r"the extra privacy: in fedkin's checkout"):
        run(
            parse({**content("fedavg", run__participation=1.0), "privacy": given})[0],
            tmp_path / "run",
        )


@pytest.mark.parametrize("where", ["server", "client", "distributed"])
def test_running_statistics_get_no_noise(where):
    """A running variance with noise would be below 0 within a few rounds."""

    def assembled(buffers):
        norm = {"model__name": "tests.engine.vmap.test_batcher:Norm", "model__buffers": buffers}
        given = content("fedavg", run__participation=1.0, **norm)
        privacy = {**PRIVACY, "where": where, "secure_aggregation": where == "distributed"}
        return assemble(experiment({**given, "privacy": privacy}))

    with pytest.raises(FedkinError, match=r"variance .* set model.buffers to 'local' or 'drop'"):
        assembled("global")
    for buffers in ("local", "drop"):
        assembled(buffers)
