"""[privacy] unit = "sample": what DP-SGD costs each client, before anybody trains."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from fedkin.core.errors import FedkinError
from fedkin.core.method import ClientContext, ClientInfo, FederationInit, Method
from fedkin.core.model import Model
from fedkin.core.ops import ScanStep
from fedkin.core.protected.sealed import Uncovered
from fedkin.core.rng import Key, seeded
from fedkin.core.tree import Tree
from fedkin.data.population import Population
from fedkin.engine.contexts import LocalData, Schedule
from fedkin.engine.round.federation import Federation, participants
from fedkin.runs.privacy import NoiseTarget, PrivacySection
from fedkin.runs.spec import Spec
from fedkin.setup.accountant import (
    COARSE,
    FINE,
    Release,
    affordable_rounds,
    epsilon_of_releases,
    largest_epsilon,
    noise_of_all,
)
from fedkin.transforms.protected.data import first_state
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

    def say(self, sentence: str) -> None:
        """Nothing is recorded here.

        Args:
            sentence: A text.
        """

    def scan(
        self, step: ScanStep, model: Model, carry: Tree, blocks: Iterable[Tree], constants: Tree
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
        """The releases of one sample in all rounds. A mini-batch whose gradient is taken k times is
        a release with noise σ / √k.

        Args:
            noise: σ, in clips.

        Returns:
            A release for each mini-batch of a step.
        """
        return tuple(
            Release(noise / times**0.5, self.share, steps * self.rounds)
            for kind, steps in self.steps
            for times in kind
        )

    def below(self, other: "Cost") -> bool:
        """Whether it surely costs no more than the other.

        Args:
            other: Another client's.

        Returns:
            False where nobody can say.
        """
        at_most = self.share <= other.share and self.rounds <= other.rounds
        more = dict(other.steps)
        return at_most and all(steps <= more.get(kind, 0) for kind, steps in self.steps)


@dataclass(frozen=True)
class SampleCosts:
    """Of every client: its sampling rate and its steps in a round.

    shares: {client: q}. steps: {client: its steps in a round}. participants: of every round, as
    the run's seed draws them. sent: whether clients send anything.
    """

    shares: Mapping[int, float]
    steps: Mapping[int, Steps]
    participants: tuple[tuple[int, ...], ...]
    sent: bool = True

    def taken(self, rounds: int) -> Counter[int]:
        """In how many of the first rounds each client takes part.

        Args:
            rounds: How many of the first rounds.

        Returns:
            {client: a number of rounds}.
        """
        return Counter(client for who in self.participants[:rounds] for client in who)

    def of(self, client: int, rounds: int) -> Cost:
        """A client's, after so many rounds of its own.

        Args:
            client: Its number.
            rounds: In how many rounds it takes part.

        Returns:
            Its sampling rate, steps and rounds.
        """
        return Cost(self.shares[client], tuple(sorted(self.steps[client].items())), rounds)

    def largest(self, counts: Mapping[int, int]) -> list[Cost]:
        """Those of which one costs most, where each client took part so many times.

        Args:
            counts: {client: in how many rounds it takes part}.

        Returns:
            At least one; no two of which one is surely below the other.
        """
        each = {self.of(client, counts.get(client, 0)) for client in self.shares}
        return [one for one in each if not any(one.below(other) for other in each - {one})]

    def epsilon(
        self, noise: float, delta: float, rounds: int, interval: float = FINE, more: int = 0
    ) -> float:
        """The largest ε of a client after so many rounds of the run.

        Args:
            noise: σ, in clips.
            delta: δ, in (0, 1).
            rounds: Of the run, from 0.
            interval: Of the discretization; a coarser one is faster, and its ε a little larger.
            more: Further rounds, in which every client takes part.

        Returns:
            ε, from 0.
        """
        taken = self.taken(rounds)
        costs = self.largest({client: taken[client] + more for client in self.shares})
        return largest_epsilon([one.releases(noise) for one in costs], delta, interval)

    def each(self, noise: float, delta: float, counts: Mapping[int, int]) -> dict[int, float]:
        """ε of every client, from above: sampling rates are rounded up to a grid.

        Args:
            noise: σ, in clips.
            delta: δ, in (0, 1).
            counts: {client: in how many rounds it took part}.

        Returns:
            {client: ε}.
        """
        return {
            client: epsilon_of_releases(
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

    Args:
        spec: The experiment.
        method: The method, before samples are protected.
        federation: Its clients.
        models: Every architecture, by name.
        population: The clients' data.
        schedule: [train], as hosts have it.

    Returns:
        The sampling rates and steps of all clients.

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
    client, info = next(iter(infos.items()))
    message = method.expected_update(method.broadcast(state, client), info)
    return SampleCosts(shares, steps, drawn, bool(message) or method.setup_message is not None)


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
    own = _first_state(method, data)
    received = method.broadcast(state, info.client)
    return steps_of(method, received, own, data, spec.privacy.plain_at_home)


def _first_state(method: Method, data: LocalData) -> Tree:
    """A client's state before any round. Raises FedkinError where it is made of labels."""
    try:
        return first_state(method, data.model.initial, data.info)
    except Uncovered as error:
        raise FedkinError(
            f"privacy.unit = 'sample' does not fit {method.name}: {error}; try fedavg, or ditto"
        ) from None


def protected_at_node(
    spec: Spec,
    method: Method,
    start: FederationInit,
    info: ClientInfo,
    model: Model,
    population: Population,
    schedule: Schedule,
) -> Method:
    """``protected`` as a node makes it, which counts the steps of its own client.

    Args:
        spec: The experiment.
        method: The method, before samples are protected.
        start: What the method's server begins with.
        info: What the node's client knows of itself.
        model: Its architecture.
        population: The node's data.
        schedule: [train], as hosts have it.

    Returns:
        The method whose client protects every sample.

    Raises:
        FedkinError: δ is too large for its samples, or the noise is no multiplier.
    """
    check_multiplier(spec)
    check_delta(spec, {info.client: info})
    steps = _steps(spec, method, method.server(start), info, model, population, schedule)
    return protected(spec, method, {info.client: steps})


def check_multiplier(spec: Spec) -> None:
    """Refuse the noise of samples where nodes cannot know it: a target's multiplier depends on all
    clients' samples, and so do the rounds of a budget.

    Args:
        spec: The experiment, of a deployment.

    Raises:
        FedkinError: The noise is a target, or there is a budget.
    """
    privacy = spec.privacy
    if not privacy.of_samples:
        return
    if not isinstance(privacy.noise, float):
        raise FedkinError(
            "privacy.noise is a target, whose multiplier depends on every client's samples, which "
            "no node knows: give nodes a multiplier, as in noise = 12.7 and delta = 1e-5; fedkin "
            "run finds it for as many clients and samples, and fedkin show prints it"
        )
    if privacy.budget is not None:
        raise FedkinError(
            "privacy.budget with unit = 'sample' depends on every client's samples, which no node "
            "knows: leave it out, and set run.rounds"
        )


def with_noise(spec: Spec, costs: SampleCosts) -> Spec:
    """The specification with a noise multiplier, and as many rounds as the budget allows.

    Args:
        spec: With [privacy] unit = "sample".
        costs: What every client's round releases.

    Returns:
        A copy whose noise is σ in clips.

    Raises:
        FedkinError: No multiplier gives the target, or the budget has no room for one round.
    """
    target = spec.privacy.noise
    if isinstance(target, NoiseTarget):
        rounds = spec.run.rounds
        most = [one.releases(1.0) for one in costs.largest(costs.taken(rounds))]
        noise = noise_of_all(target.epsilon, target.delta, most, rounds)
        spec = spec.replace("privacy", noise=noise, delta=target.delta)
    return spec.replace("run", rounds=_affordable(spec.privacy, costs, spec.run.rounds))


def _affordable(privacy: PrivacySection, costs: SampleCosts, rounds: int) -> int:
    """How many rounds the budget allows, for the client that pays most."""
    assert isinstance(privacy.noise, float)
    assert privacy.delta is not None
    if privacy.budget is None:
        return rounds
    return affordable_rounds(
        partial(costs.epsilon, privacy.noise, privacy.delta), privacy.budget, rounds
    )


def protected(spec: Spec, method: Method, steps: Mapping[int, Steps]) -> Method:
    """The method whose clients protect every sample, and take no more steps than were counted.

    Args:
        spec: With a multiplier.
        method: The method, before samples are protected.
        steps: {client: its steps in a round}, as they were counted.

    Returns:
        The method whose gradients are clipped and noised, sample by sample.
    """
    privacy = spec.privacy
    assert isinstance(privacy.clip, float)
    assert isinstance(privacy.noise, float)

    def promised(data: ClientContext) -> Steps:
        return steps[data.info.client]

    guarantee = SampleGuarantee(
        privacy.clip, privacy.noise, spec.train.batch_size, privacy.plain_at_home
    )
    return keep_samples_private(method, guarantee, promised)


def check_delta(spec: Spec, infos: Mapping[int, ClientInfo]) -> None:
    """Refuse a δ with which one sample could be published as it is.

    Args:
        spec: With [privacy], a multiplier or a target.
        infos: What each client knows of itself.

    Raises:
        FedkinError: δ is 1 / samples or more, at the client that has most.
    """
    delta = spec.privacy.asked_delta
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
