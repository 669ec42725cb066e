"""CGPFL's Theorem 2 and COMET's equation 62 against numbers worked out by hand, and against what
they promise.
"""

import math
import tracemalloc

import numpy as np
import pytest

from fedkin.core.errors import FedkinError
from fedkin.theory.generalization import clustered_bound, cost, ensemble_bound, variation

THETA = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]])
OMEGA = np.array([[0.0, 0.0], [3.0, 0.0]])
SIZES = np.array([10, 30, 60])


def test_the_terms_of_theorem_2_are_those_of_the_hand() -> None:
    found = clustered_bound(
        THETA, OMEGA, SIZES, lam=12.0, smoothness=4.0, delta=0.1, local=[0.5, 0.1, 0.2]
    )
    assert found.distance == pytest.approx(
        (12 + 2) * (0.1 * 0 + 0.3 * 16 + 0.6 * 1)
    )  # 9 + 16 to the first model
    assert found.capacity == pytest.approx(math.sqrt(2 * 2 / 100 * math.log(math.e * 100 / 2)))
    assert found.confidence == pytest.approx(2 * math.sqrt(math.log(3 / 0.1) / 100))
    assert found.local == pytest.approx(0.05 + 0.03 + 0.12)
    assert found.total == pytest.approx(sum(found))


def test_more_clusters_raise_one_term_and_lower_the_other() -> None:
    """Remark 2; with K = 1 the distance is that to pFedMe's one model."""
    rng = np.random.default_rng(3)
    theta = rng.normal(size=(9, 4)) + 5 * rng.integers(0, 3, size=(9, 1))
    sizes = rng.integers(5, 80, size=9)
    one = theta.mean(0, keepdims=True)
    bounds = [
        clustered_bound(theta, theta[:k] if k > 1 else one, sizes, lam=1, smoothness=1)
        for k in (1, 4, 6, 9)
    ]
    assert bounds[0].distance == pytest.approx(
        1.5 * (sizes / sizes.sum() @ np.square(theta - one).sum(1))
    )
    assert [b.distance for b in bounds[1:]] == sorted(
        (b.distance for b in bounds[1:]), reverse=True
    )
    assert bounds[-1].distance == 0
    assert [b.capacity**2 for b in bounds] == pytest.approx(
        [bounds[0].capacity ** 2 * k for k in (1, 4, 6, 9)]
    )
    assert len({(b.confidence, b.local) for b in bounds}) == 1
    assert cost(theta, theta, sizes.astype(float)) == 0


def test_the_cost_is_found_in_the_memory_of_the_clients_models() -> None:
    rng = np.random.default_rng(1)
    theta, omega, sizes = rng.normal(size=(200, 500)), rng.normal(size=(40, 500)), np.ones(200)
    tracemalloc.start()
    found = cost(theta, omega, sizes)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == pytest.approx(np.square(theta[:, None] - omega[None]).sum(2).min(1).mean())
    assert most < 4 * theta.nbytes  # all differences would take 40 times that


@pytest.mark.parametrize(
    ("theta", "omega", "given"),
    [
        (THETA, OMEGA, {"lam": math.nan, "smoothness": 1}),
        (THETA, OMEGA, {"lam": 1, "smoothness": math.nan}),
        (THETA, OMEGA[:0], {"lam": 1, "smoothness": 1}),
        (THETA[:, :0], OMEGA[:, :0], {"lam": 1, "smoothness": 1}),
    ],
)
def test_what_has_no_bound_is_refused(theta, omega, given) -> None:
    with pytest.raises(FedkinError, match="clustered_bound needs"):
        clustered_bound(theta, omega, SIZES, **given)


def test_with_more_parameters_than_samples_the_logarithm_is_one() -> None:
    found = clustered_bound(np.zeros((2, 500)), np.zeros((1, 500)), [3, 4], lam=1, smoothness=1)
    assert found.capacity == pytest.approx(math.sqrt(500 / 7))


ALPHA = np.array([0.5, 0.0, 0.3, 0.2])
LOSSES = np.array([0.1, 0.9, 0.2, 0.4])
COUNTS = np.array([50, 1, 200, 8])
APART = np.array([0.0, 2.0, 0.6, 1.1])


def test_the_terms_of_equation_62_are_those_of_the_hand() -> None:
    found = ensemble_bound(ALPHA, LOSSES, COUNTS, APART, [0.1, 9.0, 0.2, 0.3], delta=0.05)
    assert found.training == pytest.approx(0.05 + 0.06 + 0.08)
    weighed = ((0.5, 50), (0.3, 200), (0.2, 8))
    spread = sum(a * math.sqrt(math.log(6 / 0.05) / (2 * m)) for a, m in weighed)
    assert found.samples == pytest.approx(spread)
    assert found.distance == pytest.approx((0.18 + 0.22) / 2)
    assert found.joint == pytest.approx(0.05 + 0.06 + 0.06)
    printed = ensemble_bound(ALPHA, LOSSES, COUNTS, APART, delta=0.05, printed=True)
    assert printed.samples == pytest.approx(
        math.sqrt(math.log(20)) * (0.5 / 50**0.5 + 0.3 / 200**0.5 + 0.2 / 8**0.5)
    )
    assert printed[::2] == found[::2]  # training and distance
    alone = ensemble_bound([1.0, 0.0, 0.0, 0.0], LOSSES, COUNTS, APART)
    assert alone.samples == pytest.approx(
        math.sqrt(math.log(2 / 0.05) / 100)
    )  # Lemma C.2 as it stands


def test_distance_bounds_what_a_loss_can_change() -> None:
    """Lemma C.1: ½ d is reached by the loss that is 1 where the first distribution is larger."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet([0.3] * 6), rng.dirichlet([2.0] * 6)
    losses = [*rng.random((200, 6)), (p > q).astype(float)]
    gaps = [float(loss @ p - loss @ q) for loss in losses]
    assert max(gaps[:-1]) < variation(p, q) / 2
    assert gaps[-1] == pytest.approx(variation(p, q) / 2)
    assert variation([3, 1, 0], [30, 10, 0]) == pytest.approx(0, abs=1e-15)
    assert variation([5, 0], [0, 2]) == 2


def test_the_bound_holds_for_ensembles_of_predictors_that_were_fitted() -> None:
    """Labels given class shares alone, no features: a hypothesis is a distribution, its loss half
    the squared error.

    All clients' hypotheses are compared on client 0's own distribution, over many draws of the
    training samples.
    """
    rng = np.random.default_rng(8)
    truths = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.05, 0.15, 0.8]])
    sizes, alpha, broken = np.array([12, 90, 40]), np.array([0.5, 0.4, 0.1]), 0

    def loss(h: np.ndarray, of: np.ndarray) -> float:
        return float(sum(of[y] * np.square(np.eye(3)[y] - h).sum() / 2 for y in range(3)))

    apart = [variation(truths[0], each) for each in truths]
    best = [(truth + truths[0]) / 2 for truth in truths]
    joint = [loss(h, truths[0]) + loss(h, truth) for h, truth in zip(best, truths, strict=True)]
    for _ in range(100):
        h = np.stack(
            [rng.multinomial(m, truth) / m for m, truth in zip(sizes, truths, strict=True)]
        )
        bound = ensemble_bound(
            alpha, [loss(one, one) for one in h], sizes, apart, joint, delta=0.05
        )
        broken += loss(alpha @ h, truths[0]) > bound.total
    assert broken <= 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: clustered_bound(THETA, OMEGA[:, :1], SIZES, lam=1, smoothness=1),
            r"theta \[clients, d\]",
        ),
        (
            lambda: clustered_bound(THETA, OMEGA, SIZES[:2], lam=1, smoothness=1),
            r"samples \[clients\]",
        ),
        (lambda: clustered_bound(THETA, OMEGA, SIZES, lam=1, smoothness=1, delta=1.0), "delta in"),
        (lambda: clustered_bound(THETA, OMEGA, SIZES, lam=-1, smoothness=1), "at least 0"),
        (lambda: ensemble_bound([0.5, 0.4], LOSSES[:2], COUNTS[:2], APART[:2]), "sum to 1"),
        (
            lambda: ensemble_bound([0.5, 0.5], [0.1, 1.1], COUNTS[:2], APART[:2]),
            r"losses in \[0, 1\]",
        ),
        (lambda: variation([1, 2], [1, 2, 3]), "two distributions"),
        (lambda: variation([1, -2], [1, 2]), "two distributions"),
    ],
)
def test_mistakes_are_told(call, words) -> None:
    with pytest.raises(FedkinError, match=words):
        call()
