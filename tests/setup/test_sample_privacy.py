"""[privacy] unit = "sample" in whole runs."""

from types import SimpleNamespace

import dp_accounting
import pytest
import torch
from dp_accounting.pld import PLDAccountant

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientInfo
from fedkin.core.rng import seeded
from fedkin.engine.transports import processes
from fedkin.experiment.resume import resume
from fedkin.experiment.run import run
from fedkin.experiment.run_facts import privacy_of
from fedkin.flower.deployable import check_deployable
from fedkin.methods import make
from fedkin.report.summary import summary
from fedkin.runs.database import read_only
from fedkin.runs.spec import parse
from fedkin.setup import sample_privacy
from fedkin.setup.accountant import epsilon_of_releases, noise_of_samples
from fedkin.setup.build import assemble
from fedkin.setup.hosts import host_of
from fedkin.setup.remarks import unsent_noise
from fedkin.setup.sample_privacy import Cost, SampleCosts, check_delta, with_noise
from fedkin.transforms.protected.per_sample import steps_of
from tests.engine.small import FORKED, METHODS, content, outcome

PRIVACY = {"unit": "sample", "noise": 1.0, "clip": 0.5, "delta": 1e-5}


def spec(method="fedavg", privacy=None, **settings):
    return parse({**content(method, **settings), "privacy": {**PRIVACY, **(privacy or {})}})[0]


@pytest.fixture
def free(monkeypatch):
    """What is accounted costs seconds, and these tests ask for something else."""
    monkeypatch.setattr(sample_privacy, "epsilon_of_releases", lambda *_: 1.0)
    monkeypatch.setattr(sample_privacy, "largest_epsilon", lambda *_: 1.0)


STEPS = {
    "fedavg": {(1,): 4},
    "ditto": {(1,): 8},
    "cgpfl": {(2,): 4},
    "pfedme": {(2,): 4},
    "per_fedavg": {(1, 1, 2): 4},
    "comet": {(1,): 4},
    "persfl": {(1,): 4},
    "apfl": {(3,): 1, (2,): 3},
    "partial_fl": {(1,): 7},  # 3 of the personal part
    "fedrep": {(1,): 7},
    "fedbabu": {(1,): 4},  # the head stands still in the rounds
    "fedala": {(1,): 24},  # 2 passes over W_i, when it is first learned
}


@pytest.mark.parametrize("method", STEPS)
def test_the_steps_of_a_round_are_known_beforehand(method):
    assert assemble(spec(method)).costs.steps[0] == STEPS[method]


def test_personal_parts_without_noise_cost_nothing_and_are_outside():
    plain = assemble(spec("ditto", {"personal": "plain"})).costs
    assert plain.steps[0] == {(1,): 4}
    assert assemble(spec("apfl", {"personal": "plain"})).costs.steps[0] == {(1,): 4}
    with pytest.raises(FedkinError, match="fedper declares no step of which nothing is sent"):
        assemble(spec("fedper", {"personal": "plain"}))


def test_noise_is_said_to_be_in_vain_where_nothing_is_sent(tmp_path, free, caplog):
    """Before the first round, and in the record: the noise of ``local`` protects a model that is
    given away, and nobody from the server.
    """
    said_before = []
    folder = run(
        spec("local", run__rounds=1),
        tmp_path / "run",
        progress=lambda _: said_before.append(list(caplog.messages)),
    )
    (sentence,) = [one for one in said_before[0] if "clients of local send nothing" in one]
    with read_only(folder) as database:
        facts = database.facts()
    assert sentence.removeprefix("note: ") in facts["said"]
    assert facts["privacy"]["from"] == "whoever is given a client's model"


def test_noise_of_what_is_sent_is_not_said_to_be_in_vain(free):
    for method in ("fedavg", "comet", "persfl"):
        parts = assemble(spec(method))
        assert unsent_noise(parts) == []
        assert privacy_of(parts)["from"] == "whoever sees what clients send, the server too"
    assert unsent_noise(assemble(parse(content("local"))[0])) == []


REFUSED = {
    "centralized": "trains on everybody's samples in one place",
    "fedem": "passes over all training samples",
    "fedproto": "passes over all training samples",
    "fedpac": "passes over all training samples",
    "fedrod": "the histogram of their labels",
    "gpfl": "the histogram of their labels",
    "fedas": "passes over all training samples",
    "feddbe": "passes over all training samples",
    "fedtgp": "passes over all training samples",
    "ppfl": "the histogram of their labels",
    "ifca": "scores models on training samples",
    "hypcluster": "scores models on training samples",
    "l2sgd": "tells clients anew in each round how to work",
    "fedmd": "tells clients anew in each round how to work",
}


def test_ppfl_is_covered_without_histograms_and_full_passes():
    free_of_both = {"method__affinity": "none", "method__membership_steps": "batches"}
    assert assemble(spec("ppfl", **free_of_both)).costs.steps[0] == {(1,): 8}
    with pytest.raises(FedkinError, match=r"does not fit ppfl: .*passes over all training samples"):
        assemble(spec("ppfl", method__affinity="none"))
    one_block = assemble(spec("ppfl", **free_of_both, method__schedule="random"))
    assert one_block.costs.steps[0] == {(1,): 4}  # of the memberships or of the models


@pytest.mark.parametrize("method", REFUSED)
def test_a_method_that_uses_samples_otherwise_is_refused(method):
    with pytest.raises(FedkinError, match=REFUSED[method]) as told:
        assemble(spec(method))
    assert "\n" not in str(told.value)


def test_new_orders_are_seen_where_one_batch_holds_all_samples():
    """No step at all is no pass over the samples."""
    with pytest.raises(FedkinError, match=REFUSED["l2sgd"]):
        assemble(spec("l2sgd", train__batch_size=1000))


def test_what_a_method_lacks_is_said_before_its_work_is_followed():
    numbers = {"model__name": "glm", "model__family": "gaussian", "data__name": "linear_toy"}
    given = content("comet", **numbers, public__samples=20)
    given["split"] = {"name": "natural"}
    del given["run"]["clients"]
    with pytest.raises(FedkinError, match="comet needs class probabilities"):
        assemble(parse({**given, "privacy": PRIVACY})[0])


def test_a_first_state_that_is_made_of_labels_is_refused():
    """No noise covers it, and a message may hold it."""
    base = make("fedavg", {}, {"lr": 0.1})
    telling = base._replace(name="telling", client=lambda initial, info: {"of": info.histogram})
    with pytest.raises(FedkinError, match="does not fit telling: its clients use the histogram of"):
        assemble(spec(), telling)


def test_all_other_methods_are_covered():
    for method in METHODS.keys() - REFUSED.keys() - STEPS.keys():
        assert assemble(spec(method)).costs.steps[0]


def test_batch_norm_is_refused():
    normed = SimpleNamespace(model=SimpleNamespace(name="normed", pads=False))
    with pytest.raises(FedkinError, match="model normed mixes the samples of a mini-batch"):
        steps_of(make("fedavg", {}, {"lr": 0.1}), {}, {}, normed)


def test_a_delta_that_would_publish_a_sample_is_refused():
    with pytest.raises(FedkinError, match=r"privacy.delta is 0.1, and must be below 1 / \d+ sam"):
        assemble(spec(privacy={"delta": 0.1}))


def test_delta_is_held_against_the_client_with_most_samples():
    infos = {k: ClientInfo(k, "mlr", n, torch.ones(3), 0, 3) for k, n in enumerate((1000, 10))}
    with pytest.raises(FedkinError, match=r"is 0\.01, and must be below 1 / 1000 samples"):
        check_delta(spec(privacy={"delta": 0.01}), infos)
    check_delta(spec(privacy={"delta": 0.01}), {1: infos[1]})


def test_clients_that_join_later_are_refused():
    with pytest.raises(FedkinError, match=r"run\.holdout_clients: who joins a finished run has no"):
        assemble(spec(run__holdout_clients=0.2))


def test_nodes_take_a_multiplier_alone():
    check_deployable(spec())
    target = {"noise": {"epsilon": 8, "delta": 1e-5}, "delta": None}
    with pytest.raises(FedkinError, match="give nodes a multiplier, as in"):
        check_deployable(spec(privacy=target))


@pytest.mark.rotating
def test_epsilon_is_the_librarys_own_composition():
    """A mini-batch whose gradient is taken twice is one Gaussian with noise σ / √2."""
    cost = Cost(0.2, (((1, 2), 3),), 2)
    inner = dp_accounting.PoissonSampledDpEvent(0.2, dp_accounting.GaussianDpEvent(1.4))
    twice = dp_accounting.GaussianDpEvent(1.4 / 2**0.5)
    both = dp_accounting.PoissonSampledDpEvent(0.2, twice)
    library = PLDAccountant().compose(inner, 6).compose(both, 6).get_epsilon(1e-6)
    assert epsilon_of_releases(cost.releases(1.4), 1e-6) == pytest.approx(library, abs=1e-6)


def test_a_target_is_met_by_the_client_that_pays_most_and_hardly_more():
    cost = Cost(0.25, (((1,), 4),), 3)
    noise = noise_of_samples(2.0, 1e-5, cost.releases(1.0), 3)
    assert 2.0 - 0.02 < epsilon_of_releases(cost.releases(noise), 1e-5) <= 2.0


def test_a_target_is_met_by_the_noise_of_the_client_that_needs_most(monkeypatch):
    """One client is drawn more often, the other takes more steps: neither costs surely less."""
    seen = []

    def noise(target, delta, costs, rounds):
        seen.extend(releases[0].share for releases in costs)
        return 10 * max(seen)

    monkeypatch.setattr(sample_privacy, "noise_of_all", noise)
    costs = SampleCosts({0: 0.5, 1: 0.1}, {0: {(1,): 4}, 1: {(1,): 9}}, ((0, 1),) * 3)
    asked = spec(privacy={"noise": {"epsilon": 8, "delta": 1e-5}, "delta": None})
    assert with_noise(asked, costs).privacy.noise == 5.0
    assert sorted(seen) == [0.1, 0.5]


@pytest.mark.parametrize("share", [1.0, 0.95, 0.5, 0.01])
def test_a_rate_is_rounded_up_and_by_a_tenth_at_most(share, monkeypatch):
    """A lower one would promise a client an ε that its rounds do not keep."""
    taken = []

    def epsilon(releases, *_):
        taken.extend(one.share for one in releases)
        return 1.0

    monkeypatch.setattr(sample_privacy, "epsilon_of_releases", epsilon)
    SampleCosts({0: share}, {0: {(1,): 4}}, ((0,),)).each(1.0, 1e-5, {0: 1})
    (rounded,) = taken
    assert share <= rounded <= min(1.0, 1.1 * share)


def test_the_largest_cost_is_of_the_smallest_client_that_works_most():
    costs = assemble(spec(run__participation=0.5)).costs
    taken = costs.taken(3)
    assert sum(taken.values()) == 9
    largest = costs.largest(taken)
    for client in costs.shares:
        assert any(costs.of(client, taken[client]).below(one) for one in largest)
    assert len(largest) < len(costs.shares)


class Stop(Exception):
    pass


@pytest.mark.certifies("sample_noise", "law")
@pytest.mark.parametrize(
    ("method", "personal"), [("scaffold", "protected"), ("cgpfl", "protected"), ("apfl", "plain")]
)
def test_a_resumed_round_repeats_its_noise_whatever_the_engine(
    method, personal, tmp_path, monkeypatch, free
):
    asked = spec(method, {"seeded": True, "personal": personal})
    plain = outcome(run(asked, tmp_path / "plain"))
    monkeypatch.setattr(processes, "subprocess", FORKED)
    other = asked.model_dump(exclude_none=True)
    other["engine"] = {"name": "processes", "workers": 2, "state": "disk", "compile": "trace"}
    assert outcome(run(parse(other)[0], tmp_path / "two")) == plain

    def stop(record):
        if record.round == 2:
            raise Stop

    with pytest.raises(Stop):
        run(asked, tmp_path / "stopped", progress=stop)
    assert outcome(resume(tmp_path / "stopped")) == plain


def test_steps_of_several_clients_made_together_end_alike(tmp_path, free):
    def models(**engine):
        settings = {f"engine__{key}": value for key, value in engine.items()}
        folder = run(spec("fedavg", {"seeded": True}, **settings), tmp_path / str(len(engine)))
        return summary(folder)["accuracy"]["personal"]["final"]["mean"]

    assert models(block=4) == pytest.approx(models(), abs=1e-6)


def test_two_runs_of_one_seed_have_other_noise_and_say_what_it_is_worth(tmp_path, free):
    first, second = run(spec(), tmp_path / "first"), run(spec(), tmp_path / "second")
    assert outcome(first)["fingerprint"] != outcome(second)["fingerprint"]
    assert (first / "secret").exists()
    told = summary(first)
    assert told["privacy"]["protects"] == "a training sample of a client"
    assert "validation samples" in told["privacy"]["outside"]
    assert "models that stay at home" not in told["privacy"]["outside"]  # none is made there
    plain = summary(run(spec("ditto", {"personal": "plain"}), tmp_path / "plain"))["privacy"]
    assert "personal models (trained without noise)" in plain["outside"]
    assert told["extras"]["epsilon"]["federation"] == 1.0
    assert len(told["extras"]["epsilon"]) == 7


def test_a_client_that_takes_more_steps_than_were_accounted_for_sends_nothing(free):
    parts = assemble(spec())
    parts.costs.steps[2].clear()
    federation = parts.federation._replace(secret=seeded(1))
    host = host_of(parts._replace(federation=federation), [2], None)
    received = parts.method.broadcast(parts.method.server(federation.start), 2)
    with pytest.raises(FedkinError, match="took more noised steps than were accounted for"):
        parts.method.client_update(received, host.personal_state(2), host.data(1, 2))


def test_mini_batches_are_drawn_by_the_secret_and_anew_each_time():
    parts = assemble(spec())
    data = {}
    for key in (1, 1, 2):
        federation = parts.federation._replace(secret=seeded(key))
        host = host_of(parts._replace(federation=federation), [0], None)
        drawn = host.data(1, 0)
        sizes = [
            drawn.batches("poisson", f"samples {walk}", steps=30)
            .gather(0, 30)
            .weight.gt(0)
            .sum(1)
            .tolist()
            for walk in (1, 2)
        ]
        data.setdefault(key, []).append(SimpleNamespace(first=sizes[0], second=sizes[1]))
    (one, again), (other,) = data[1], data[2]
    assert one.first == again.first != other.first
    assert one.first != one.second
    assert len(set(one.first)) > 3


def test_rounds_after_training_ended_early_cost_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(
        SampleCosts, "epsilon", lambda self, noise, delta, rounds, *_: float(rounds)
    )
    monkeypatch.setattr(SampleCosts, "each", lambda self, noise, delta, counts: {0: 1.0})
    asked = spec(run__rounds=40, run__patience=1, train__lr=1e-9, run__participation=1.0)
    folder = run(asked, tmp_path / "run")
    found = summary(folder)
    assert found["rounds"] == found["privacy"]["rounds"] == found["privacy"]["epsilon"] == 2
    assert found["extras"]["epsilon"]["federation"] == 2
    with read_only(folder) as database:
        said = [one for one in database.facts()["said"] if one.startswith("privacy")]
    assert "epsilon = 2 at" in said[0]
    assert "after 2 rounds" in said[0]


@pytest.mark.parametrize("method", ["fedkd", "feddf"])
def test_a_run_that_a_budget_shortens_ends_its_schedule_and_its_method_too(method, monkeypatch):
    monkeypatch.setattr(
        SampleCosts, "epsilon", lambda self, noise, delta, rounds, *_: float(rounds)
    )
    parts = assemble(spec(method, {"budget": 2.0}, run__rounds=9))
    assert parts.spec.run.rounds == 2
    assert parts.federation.tools.schedule.rounds == 2
    assert parts.method.hyper.get("rounds", 2) == 2
