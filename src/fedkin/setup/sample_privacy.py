"""[privacy] unit = "sample": what DP-SGD costs each client, before anybody trains."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientContext, ClientInfo, FederationInit, Method
from fedkin.core.model import Model
from fedkin.core.ops import Step
from fedkin.core.rng import Key, seeded
from fedkin.core.tree import Tree
from fedkin.data.population import Population
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.engine.round.federation import Federation, participants
from fedkin.runs.privacy import NoiseTarget, PrivacySection
from fedkin.runs.spec import Spec
from fedkin.setup.accountant import COARSE, FINE, Release, epsilon_of, noise_of_samples
from fedkin.transforms.protected.per_sample import (
    SampleGuarantee,
    Steps,
    keep_samples_private,
    steps_of,
)

GRID = 1.1  # sampling rates of clients are rounded up to its powers where each has an ε of its own


class _Still:
    """A Scanner that takes no step."""

    @property
    def said(self) -> list[str]:
        return []

    def scan(
        self, step: Step, model: Model, carry: Tree, blocks: Iterable[Tree], constants: Tree
    ) -> Tree:
        return carry


class Cost(NamedTuple):
    """What a client's rounds release.

    share: q, the chance that a sample is in a mini-batch. steps: noised steps of a round, by how
    often each took the gradient of each of its mini-batches. rounds: in how many it takes part.
    """

    share: float
    steps: tuple[tuple[tuple[int, ...], int], ...]
    rounds: int

    def releases(self, noise: float) -> tuple[Release, ...]:
        """A mini-batch whose gradient is taken k times is a release with noise σ / √k."""
        return tuple(
            Release(noise / times**0.5, self.share, steps * self.rounds)
            for kind, steps in self.steps
            for times in kind
        )

    def below(self, other: "Cost") -> bool:
        """Whether it surely costs no more than the other."""
        at_most = self.share <= other.share and self.rounds <= other.rounds
        more = dict(other.steps)
        return at_most and all(steps <= more.get(kind, 0) for kind, steps in self.steps)


@dataclass(frozen=True)
class SampleCosts:
    """Of every client: its sampling rate and its steps in a round.

    shares: {client: q}. steps: {client: its steps in a round}. participants: of every round, as
    the run's seed draws them.
    """

    shares: Mapping[int, float]
    steps: Mapping[int, Steps]
    participants: tuple[tuple[int, ...], ...]

    def taken(self, rounds: int) -> Counter[int]:
        """In how many of the first rounds each client takes part."""
        return Counter(client for who in self.participants[:rounds] for client in who)

    def of(self, client: int, rounds: int) -> Cost:
        """A client's, after so many rounds of its own."""
        return Cost(self.shares[client], tuple(sorted(self.steps[client].items())), rounds)

    def largest(self, counts: Mapping[int, int]) -> list[Cost]:
        """Those of which one costs most, where each client took part so many times."""
        each = {self.of(client, counts.get(client, 0)) for client in self.shares}
        return [one for one in each if not any(one.below(other) for other in each - {one})]

    def epsilon(self, noise: float, delta: float, rounds: int, interval: float = FINE) -> float:
        """The largest ε of a client after so many rounds of the run."""
        found = self.largest(self.taken(rounds))
        return max(epsilon_of(one.releases(noise), delta, interval) for one in found)

    def each(self, noise: float, delta: float, counts: Mapping[int, int]) -> dict[int, float]:
        """ε of every client, from above: sampling rates are rounded up to a grid."""
        return {
            client: epsilon_of(
                _rounded(self.of(client, counts.get(client, 0))).releases(noise), delta, COARSE
            )
            for client in self.shares
        }


def costs_of(
    spec: Spec,
    method: Method,
    federation: Federation,
    models: Mapping[str, Model],
    population: Population,
    schedule: Schedule,
) -> SampleCosts:
    """What every client's round would release.

    Raises:
        FedkinError: Of a method whose messages depend on samples by other ways.
    """
    state = method.server(federation.start)
    known: dict[tuple[int, str], Steps] = {}
    steps = {}
    for client, info in federation.infos.items():
        kind = info.samples, info.architecture
        if kind not in known:
            model = models[info.architecture]
            known[kind] = _steps(spec, method, state, info, model, population, schedule)
        steps[client] = known[kind]
    batch, infos = spec.train.batch_size, federation.infos
    shares = {client: min(1.0, batch / info.samples) for client, info in infos.items()}
    rounds = range(1, spec.run.rounds + 1)
    drawn = tuple(tuple(participants(method, federation, number)) for number in rounds)
    return SampleCosts(shares, steps, drawn)


def _steps(
    spec: Spec,
    method: Method,
    state: Tree,
    info: ClientInfo,
    model: Model,
    population: Population,
    schedule: Schedule,
) -> Steps:
    """A client's steps in a round, from the server's first state."""
    key = Key(0, 1, info.client)
    data = LocalData(info, model, key, population, _Still(), schedule, secret=seeded(0))
    own = method.client(model.initial, info)
    received = method.broadcast(state, info.client)
    return steps_of(method, received, own, data, spec.privacy.plain_at_home)


def protected_at_node(
    spec: Spec,
    method: Method,
    start: FederationInit,
    info: ClientInfo,
    model: Model,
    population: Population,
    schedule: Schedule,
) -> Method:
    """The same as a node makes it, which counts the steps of its own client.

    Raises:
        FedkinError: δ is too large for its samples, or the noise is no multiplier.
    """
    check_multiplier(spec)
    check_delta(spec, {info.client: info})
    steps = _steps(spec, method, method.server(start), info, model, population, schedule)
    return protected(spec, method, {info.client: steps})


def check_multiplier(spec: Spec) -> None:
    """Raise FedkinError where nodes cannot know the noise of samples: a target's multiplier depends
    on all clients' samples, and so do the rounds of a budget.
    """
    asked = spec.privacy
    if not asked.of_samples:
        return
    if not isinstance(asked.noise, float):
        raise FedkinError(
            "privacy.noise is a target, whose multiplier depends on every client's samples, which "
            "no node knows: give nodes the multiplier, such as noise = 1.0 and delta = 1e-5; the "
            "run tells its epsilon"
        )
    if asked.budget is not None:
        raise FedkinError(
            "privacy.budget with unit = 'sample' depends on every client's samples, which no node "
            "knows: leave it out, and set run.rounds"
        )


def with_noise(spec: Spec, costs: SampleCosts) -> Spec:
    """The specification with a noise multiplier, and as many rounds as the budget allows."""
    asked = spec.privacy
    if isinstance(asked.noise, NoiseTarget):
        target, delta = asked.noise.epsilon, asked.noise.delta
        noise = max(
            noise_of_samples(target, delta, one.releases(1.0), spec.run.rounds)
            for one in costs.largest(costs.taken(spec.run.rounds))
        )
        asked = asked.model_copy(update={"noise": noise, "delta": delta})
    run = spec.run.model_copy(update={"rounds": _affordable(asked, costs, spec.run.rounds)})
    return spec.model_copy(update={"privacy": asked, "run": run})


def _affordable(asked: PrivacySection, costs: SampleCosts, rounds: int) -> int:
    """How many rounds the budget allows, for the client that pays most."""
    assert isinstance(asked.noise, float)
    assert asked.delta is not None
    noise, delta, budget = asked.noise, asked.delta, asked.budget
    if budget is None or costs.epsilon(noise, delta, rounds) <= budget:
        return rounds
    low, high = 0, rounds
    while high - low > 1:
        middle = (low + high) // 2
        if costs.epsilon(noise, delta, middle) <= budget:
            low = middle
        else:
            high = middle
    if low == 0:
        raise FedkinError(
            f"privacy.budget is {budget:g}, and one round costs "
            f"{costs.epsilon(noise, delta, 1):.3g}: raise it, or privacy.noise"
        )
    return low


def protected(spec: Spec, method: Method, steps: Mapping[int, Steps]) -> Method:
    """The method whose clients protect every sample, and take no more steps than were counted."""
    asked = spec.privacy
    assert asked.clip is not None
    assert isinstance(asked.noise, float)

    def promised(data: ClientContext) -> Steps:
        return steps[data.info.client]

    guarantee = SampleGuarantee(asked.clip, asked.noise, spec.train.batch_size, asked.plain_at_home)
    return keep_samples_private(method, guarantee, promised)


def check_delta(spec: Spec, infos: Mapping[int, ClientInfo]) -> None:
    """Raise FedkinError for a δ with which one sample could be published as it is."""
    delta = spec.privacy.delta
    assert delta is not None
    most = max(info.samples for info in infos.values())
    if delta >= 1 / most:
        raise FedkinError(
            f"privacy.delta is {delta:g}, and must be below 1 / {most} samples of a client: one "
            "sample could be published as it is; take 1e-5 or less"
        )


def _rounded(cost: Cost) -> Cost:
    share = 1.0
    while share / GRID >= cost.share:
        share /= GRID
    return cost._replace(share=share)
